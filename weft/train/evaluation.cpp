#include "weft/train/evaluation.h"

#include "weft/train/objective.h"

namespace weft {

Evaluation::Evaluation(nn::Layer& model, TaskKind task, const DatasetRef& data,
                       const LoaderOptions& loading, DType dtype,
                       const TaggedOptions& tagged)
    : task_(task),
      loader_(data, loading),
      step_(model, task, loader_.types(), dtype, tagged) {}

RunningMean Evaluation::run() {
  RunningMean mean;
  // A pass begins without memory of the one before, so that measuring twice
  // gives the same numbers.
  step_.reset_carried();
  for (std::int64_t i = 0; i < loader_.batches_per_epoch(); ++i) {
    const Batch& batch = loader_.next();
    // A worker without a part of the last batch has taken it nevertheless: the
    // loader must stand at the first batch when the next pass begins.
    if (batch.size == 0) continue;
    step_.run(batch.tensors);
    mean.add(step_.loss(), step_.correct(),
             prediction_count(task_, batch.tensors[1].shape(), batch.size));
  }
  return mean;
}

}  // namespace weft
