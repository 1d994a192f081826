// Order between values that do not depend on each other.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// x itself, not before `others` are there: what is computed from it is computed
// then, and is not the same as what was computed from x before. So a gradient
// that computes a part of the forward pass again does so when it needs it. In a
// plan it costs nothing: it is x.
Value after(const Value& x, std::span<const Value> others);

}  // namespace weft
