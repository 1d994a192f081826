// Rounding, and division whose quotient is rounded down.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// The smallest integer not below x.
Value ceil(const Operand& x);
// The nearest integer; halves go to the even one.
Value round(const Operand& x);
// As in Python and NumPy, the quotient goes to the next integer below, so that
// the remainder has the sign of b. Of integers both are 0 for b = 0.
Value floor_divide(const Operand& a, const Operand& b);
Value remainder(const Operand& a, const Operand& b);

}  // namespace weft
