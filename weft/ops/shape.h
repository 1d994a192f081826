// The same elements under another shape or in another order.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// A view, at no cost in memory. One dim may be -1: it takes what is left.
// Throws Error(kInvalidArgument) unless the number of elements stays.
Value reshape(const Operand& x, const Shape& shape);
// Axis i of the result is axis permutation[i] of x; empty reverses the axes.
Value transpose(const Operand& x, Integers permutation = {});
// Repeats along axes of size 1 (and new leading axes) up to `shape`. Throws
// Error(kInvalidArgument) where another axis differs.
Value broadcast_to(const Operand& x, const Shape& shape);

}  // namespace weft
