// exp and log where they are near 0, to all digits.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// exp(x) - 1.
Value expm1(const Operand& x);
// log(1 + x).
Value log1p(const Operand& x);

}  // namespace weft
