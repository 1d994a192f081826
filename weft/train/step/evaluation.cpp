#include "weft/train/step/evaluation.h"

namespace weft {

Evaluation::Evaluation(const StepDescription& description,
                       std::unique_ptr<BatchSource> source)
    : source_(std::move(source)),
      step_(description.with_inputs(source_->inputs()), StepCut::kEvaluate) {
  source_->answer_with(answer_of(description.with_inputs(source_->inputs())));
}

MeasureSums Evaluation::run() {
  MeasureSums sums(step_.measures().ratios().size());
  // A pass begins without memory of the one before, and with the same batches,
  // so that measuring twice gives the same numbers.
  step_.reset_carried();
  source_->seek({});
  for (std::int64_t i = 0; i < source_->batches_per_epoch(); ++i) {
    const Batch& batch = source_->next();
    // A worker without a part of the last batch has nothing to measure.
    if (batch.size == 0) continue;
    // What a task draws differs from batch to batch, and is the same each time.
    step_.run(batch.tensors, {.number = i});
    sums.add(step_.measures());
  }
  return sums;
}

}  // namespace weft
