// What layers make of what is around them (graph/surroundings.h).
//
// Threads: per thread.
#pragma once

#include "weft/graph/surroundings.h"

namespace weft::nn {

// `x` in the dtype of the current PrecisionScope, if it is floating.
Value to_compute(const Value& x);
// `x` as f32, if it is floating; f64, which is for checks, stays.
Value to_f32(const Value& x);

// The stream in which the layer that is being called draws: layers draw apart
// under one key. A function that is being traced depends on it from here on.
std::uint32_t random_stream();

}  // namespace weft::nn
