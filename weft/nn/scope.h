// The dtypes of layers under a PrecisionScope (graph/surroundings.h).
//
// Threads: per thread.
#pragma once

#include "weft/graph/surroundings.h"

namespace weft::nn {

// `x` in the dtype of the current PrecisionScope, if it is floating.
Value to_compute(const Value& x);
// `x` as f32, if it is floating; f64, which is for checks, stays.
Value to_f32(const Value& x);

}  // namespace weft::nn
