// Measures a model on a data set.
#pragma once

#include "weft/data/loader.h"
#include "weft/train/forward_step.h"
#include "weft/train/metrics.h"

namespace weft {

// Keeps a loader and a function ready, so that measuring again costs only the
// batches. Reads the memory that the model's values lie in.
//
// Threads: caller synchronises.
class Evaluation {
 public:
  // `model` must be initialized. Throws as Loader and EvalStep do.
  Evaluation(nn::Layer& model, TaskKind task, const DatasetRef& data,
             const LoaderOptions& loading, DType dtype,
             const TaggedOptions& tagged = {});

  // One pass over the data, or over this worker's part of it. Throws what
  // reading the data throws.
  RunningMean run();
  std::int64_t examples() const { return loader_.examples_per_epoch(); }

 private:
  TaskKind task_;
  Loader loader_;
  EvalStep step_;
};

}  // namespace weft
