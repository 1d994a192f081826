// What runs along an axis: each result is made from the one before it. Throws
// Error(kInvalidArgument) for bools, for an axis that is out of range, and for
// operands of a recurrence whose shapes differ.
//
// Where `reverse` is set, it runs from the end, and results stand where their
// elements stand.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// Running sum; exclusive leaves out the element itself.
Value cumsum(const Operand& x, std::int64_t axis, bool exclusive = false,
             bool reverse = false);
// Running product; exclusive leaves out the element itself. Its gradients of
// every order are exact also where elements are 0.
Value cumprod(const Operand& x, std::int64_t axis, bool exclusive = false,
              bool reverse = false);
// y_t = a_t y_(t-1) + b_t, of floats. The first is b, whatever a is there.
Value linear_recurrence(const Operand& a, const Operand& b, std::int64_t axis,
                        bool reverse = false);

}  // namespace weft
