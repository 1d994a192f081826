// Discrete Fourier transforms of real numbers, along the last axis. The complex
// numbers are two real tensors, of real and of imaginary parts. They cost
// O(n log n) for rows of any length n.
//
// Throws Error(kInvalidArgument) unless operands are floats and the last axis
// has a known size above 0; irfft also where the two parts differ in type or
// are no transform of `size` numbers.
#pragma once

#include <utility>

#include "weft/graph/context.h"

namespace weft {

// X_k = Σ_j x_j exp(-2πi jk/n) for k = 0 … n/2; the others are their
// conjugates. Numbers that are not finite make all of their row NaN.
std::pair<Value, Value> rfft(const Operand& x);
// What rfft makes that of, given its length, n or n + 1 to n/2 + 1 numbers. The
// imaginary parts of the first one, and of the last one if `size` is even, do
// not count.
Value irfft(const Operand& real, const Operand& imaginary, std::int64_t size);

}  // namespace weft
