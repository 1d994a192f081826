// Comparison and logic; the result is bool. Also the choice by a condition.
//
// Operands broadcast; compared ones have one dtype, those of logic and
// conditions are bool. Throws Error(kInvalidArgument) for others.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value equal(const Operand& a, const Operand& b);
Value not_equal(const Operand& a, const Operand& b);
Value less(const Operand& a, const Operand& b);
Value less_equal(const Operand& a, const Operand& b);
Value greater(const Operand& a, const Operand& b);
Value greater_equal(const Operand& a, const Operand& b);
Value logical_and(const Operand& a, const Operand& b);
Value logical_or(const Operand& a, const Operand& b);
Value logical_xor(const Operand& a, const Operand& b);
Value logical_not(const Operand& a);
// These take any dtype: every integer is finite, and none is NaN.
Value is_finite(const Operand& x);
Value is_nan(const Operand& x);
// condition ? a : b, all three broadcast.
Value where(const Operand& condition, const Operand& a, const Operand& b);

}  // namespace weft
