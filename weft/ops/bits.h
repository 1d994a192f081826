// The bits of integers, of two's complement; a bool is one bit. Operands have
// one dtype and broadcast. Throws Error(kInvalidArgument) for others and for
// floats.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value bitwise_and(const Operand& a, const Operand& b);
Value bitwise_or(const Operand& a, const Operand& b);
Value bitwise_xor(const Operand& a, const Operand& b);
Value bitwise_not(const Operand& x);
// Integers only. A shift by the width of the dtype or more, or by a negative
// number, moves every bit out, as in NumPy: the result is 0; of a negative
// number shifted right, whose sign comes in from the left, it is -1.
Value shift_left(const Operand& a, const Operand& count);
Value shift_right(const Operand& a, const Operand& count);

}  // namespace weft
