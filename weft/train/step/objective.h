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
  Value sum;    // f32[]; hits are counted exactly up to 2^24
  Value count;  // f32[]
};

struct Objective {
  Value loss;  // f32[]: is minimised, the mean over the batch's predictions
  // Numbered as MetricDef::measure; the first is the loss.
  std::vector<Measure> measures;
};

}  // namespace weft
