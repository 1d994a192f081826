// The inverses of the hyperbolic functions.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value asinh(const Operand& x);
// The one that is not negative; NaN below 1.
Value acosh(const Operand& x);
// Infinite at -1 and 1, NaN beyond.
Value atanh(const Operand& x);

}  // namespace weft
