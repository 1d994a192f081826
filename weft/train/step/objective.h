// What training minimises and measures on one batch.
//
// Threads: value types of staged or concrete values.
#pragma once

#include <vector>

#include "weft/graph/value.h"

namespace weft {

// A mean is told as its two parts, so that batches of any size, and of several
// workers, add up.
struct Measure {
  // f32[], or f32[size] where MeasureDef says so; hits are counted exactly up
  // to 2^24.
  Value sum;
  Value count;  // f32[]
};

struct Objective {
  Value loss;  // f32[]: is minimised, the mean over the batch's predictions
  // They are as TrainingTask::measures() lists them; the first is the loss.
  std::vector<Measure> measures;
};

}  // namespace weft
