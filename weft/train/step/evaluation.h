// Measures a model on a part of its data.
#pragma once

#include <memory>

#include "weft/data/batch_source.h"
#include "weft/train/step/step.h"

namespace weft {

// Keeps a source and a function ready, so that measuring again costs only the
// batches. Reads the memory that the model's values lie in.
//
// Threads: caller synchronises.
class Evaluation {
 public:
  // Takes what `description` says of everything but the batches. Throws as
  // Step does.
  Evaluation(const StepDescription& description,
             std::unique_ptr<BatchSource> source);

  // One pass over the data, or over this worker's part of it. Throws what
  // making the batches throws.
  MeasureSums run();
  std::int64_t examples() const { return source_->examples_per_epoch(); }

 private:
  std::unique_ptr<BatchSource> source_;
  Step step_;
};

}  // namespace weft
