// Elementwise functions of one operand.
//
// exp, log, sqrt, rsqrt, tanh, sigmoid, gelu, erf and floor take floats, the
// others any numbers. Throws Error(kInvalidArgument) for other operands.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value negate(const Operand& x);
Value exp(const Operand& x);
Value log(const Operand& x);
Value sqrt(const Operand& x);
Value rsqrt(const Operand& x);
Value square(const Operand& x);
Value tanh(const Operand& x);
Value sigmoid(const Operand& x);
Value relu(const Operand& x);
// x Φ(x), with the error function (Hendrycks and Gimpel, 2016).
Value gelu(const Operand& x);
Value erf(const Operand& x);
Value abs(const Operand& x);
Value sign(const Operand& x);
Value floor(const Operand& x);
// min(max(x, low), high). The gradient is 1 inside and at the ends.
Value clamp(const Operand& x, double low, double high);

inline Value operator-(const Operand& x) { return negate(x); }

// Converts the elements; float to integer truncates toward zero.
Value cast(const Operand& x, DType dtype);
// The same, but a value of that dtype is itself the result.
inline Value to_dtype(const Value& x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

}  // namespace weft
