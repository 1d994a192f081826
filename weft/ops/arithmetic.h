// Elementwise arithmetic with NumPy broadcasting. Operands have one dtype; a
// C++ number takes the dtype of the other operand.
//
// Integers wrap around, and x / 0 is 0 for them. Throws Error(kInvalidArgument)
// where shapes do not broadcast, dtypes differ, or an operand is bool.
#pragma once

#include "weft/ops/constant.h"

namespace weft {

Value add(const Operand& a, const Operand& b);
Value subtract(const Operand& a, const Operand& b);
Value multiply(const Operand& a, const Operand& b);
Value divide(const Operand& a, const Operand& b);
Value maximum(const Operand& a, const Operand& b);
Value minimum(const Operand& a, const Operand& b);
// a to the power b.
Value power(const Operand& a, const Operand& b);

inline Value operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Value operator-(const Operand& a, const Operand& b) {
  return subtract(a, b);
}
inline Value operator*(const Operand& a, const Operand& b) {
  return multiply(a, b);
}
inline Value operator/(const Operand& a, const Operand& b) {
  return divide(a, b);
}

inline Value operator+(const Operand& a, double b) {
  return add(a, Operand(scalar_like(*a.value, b), a.location));
}
inline Value operator-(const Operand& a, double b) {
  return subtract(a, Operand(scalar_like(*a.value, b), a.location));
}
inline Value operator*(const Operand& a, double b) {
  return multiply(a, Operand(scalar_like(*a.value, b), a.location));
}
inline Value operator/(const Operand& a, double b) {
  return divide(a, Operand(scalar_like(*a.value, b), a.location));
}
inline Value operator+(double a, const Operand& b) {
  return add(Operand(scalar_like(*b.value, a), b.location), b);
}
inline Value operator-(double a, const Operand& b) {
  return subtract(Operand(scalar_like(*b.value, a), b.location), b);
}
inline Value operator*(double a, const Operand& b) {
  return multiply(Operand(scalar_like(*b.value, a), b.location), b);
}
inline Value operator/(double a, const Operand& b) {
  return divide(Operand(scalar_like(*b.value, a), b.location), b);
}

}  // namespace weft
