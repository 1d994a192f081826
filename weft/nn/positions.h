// Where a row stands in its sequence, as numbers that are not learnt.
//
// Threads: a pure function.
#pragma once

#include "weft/graph/value.h"
#include "weft/tensor/shape.h"

namespace weft::nn {

// f32[length, width]: row p has sin(p / 10000^(2 i / width)) at place i and the
// cosine at place width / 2 + i (Vaswani et al., 2017, section 3.5, with sines
// and cosines apart). The length may be a symbol while staging, and any length
// goes. Throws Error(kInvalidArgument) for an odd width.
Value sinusoidal_positions(Dim length, std::int64_t width);

}  // namespace weft::nn
