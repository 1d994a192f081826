// Values that need no input.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// A tensor of the given type with every element `value`. The shape may hold
// symbols while staging. Throws Error(kInvalidArgument) for a type that is
// larger than any memory, and for a number that a dtype of integers has not: it
// is not cut to some of its bits. Those beyond 2^53 are no doubles; they take a
// constant.
Value full(const TensorType& type, double value,
           std::source_location where = std::source_location::current());

// A number that stands in the program: a constant of the function being built.
// The dtype must hold it as full()'s does. (A tensor that a function refers to
// may be one of its inputs instead.)
Value scalar(double value, DType dtype);

// A scalar of the dtype of `like`: "2 * x" takes its 2 from here.
inline Value scalar_like(const Value& like, double value) {
  return scalar(value, like.dtype());
}

inline Value zeros_like(const Value& like) { return full(like.type(), 0); }
inline Value ones_like(const Value& like) { return full(like.type(), 1); }

// 0, 1, 2, … as a vector of `size`, which may be a symbol while staging.
Value iota(Dim size, DType dtype = DType::kI64,
           std::source_location where = std::source_location::current());

}  // namespace weft
