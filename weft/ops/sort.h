// Order along an axis. Throws Error(kInvalidArgument) for bools, for an axis
// that is out of range, and for a k that is no number of its elements.
#pragma once

#include <utility>

#include "weft/graph/context.h"

namespace weft {

// The k largest, descending, and their positions as i64. Ties keep the lower
// position first.
std::pair<Value, Value> top_k(const Operand& x, std::int64_t k,
                              std::int64_t axis = -1);
// Stable sort and the positions it came from, as i64.
std::pair<Value, Value> sort(const Operand& x, bool descending = false,
                             std::int64_t axis = -1);

}  // namespace weft
