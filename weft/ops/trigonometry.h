// Angles in radians: their functions, and the angles that have a given value.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value sin(const Operand& x);
Value cos(const Operand& x);
Value tan(const Operand& x);
// NaN outside of [-1, 1].
Value asin(const Operand& x);
Value acos(const Operand& x);
Value atan(const Operand& x);
// The angle of the point (b, a), in [-π, π]; the signs of zeros count as in C's
// library.
Value atan2(const Operand& a, const Operand& b);

}  // namespace weft
