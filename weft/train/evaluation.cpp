#include "weft/train/evaluation.h"

#include "weft/train/objective.h"

namespace weft {

Evaluation::Evaluation(nn::Layer& model, TaskKind task, const DatasetRef& data,
                       const LoaderOptions& loading, DType dtype)
    : task_(task),
      loader_(data, loading),
      step_(model, task, loader_.types(), dtype) {}

RunningMean Evaluation::run() {
  RunningMean mean;
  step_.reset_carried();
  for (std::int64_t i = 0; i < loader_.batches_per_epoch(); ++i) {
    const Batch& batch = loader_.next();
    if (batch.size == 0) continue;
    step_.run(batch.tensors);
    mean.add(step_.loss(), step_.correct(),
             prediction_count(task_, batch.tensors[1].shape(), batch.size));
  }
  return mean;
}

}  // namespace weft
