// Values that need no input.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// A tensor of the given type with every element `value`. The shape may hold
// symbols while staging.
Value full(const TensorType& type, double value,
           std::source_location where = std::source_location::current());

// A scalar of the dtype of `like`: "2 * x" takes its 2 from here.
Value scalar_like(const Value& like, double value);

inline Value zeros_like(const Value& like) { return full(like.type(), 0); }
inline Value ones_like(const Value& like) { return full(like.type(), 1); }

// 0, 1, 2, … as a vector.
Value iota(Dim size, DType dtype = DType::kI64,
           std::source_location where = std::source_location::current());

}  // namespace weft
