// Order along the last axis.
//
// NaN counts as the largest number. Throws Error(kInvalidArgument) for scalars
// and bools, and for k outside of [1, size].
#pragma once

#include <utility>

#include "weft/graph/context.h"

namespace weft {

// The k largest, descending, and their positions as i64. Ties keep the lower
// position first.
std::pair<Value, Value> top_k(const Operand& x, std::int64_t k);
// Stable sort and the positions it came from, as i64.
std::pair<Value, Value> sort(const Operand& x, bool descending = false);
// Running sum along an axis; exclusive leaves out the element itself.
Value cumsum(const Operand& x, std::int64_t axis, bool exclusive = false,
             bool reverse = false);

}  // namespace weft
