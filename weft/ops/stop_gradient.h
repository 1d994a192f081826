// The end of the way that gradients take.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// x itself, but a constant to whoever differentiates. In a plan it costs
// nothing: it is x.
Value stop_gradient(const Operand& x);

}  // namespace weft
