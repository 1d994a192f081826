// Ops that put tensors together along axes, and take them apart.
#pragma once

#include <vector>

#include "weft/graph/context.h"

namespace weft {

Value concat(std::span<const Value> xs, std::int64_t axis,
             std::source_location where = std::source_location::current());
// Cuts an axis into parts of the given sizes, which add up to it.
std::vector<Value> split(const Operand& x, const Integers& sizes,
                         std::int64_t axis);
// Repeats the whole tensor repeats[i] times along axis i.
Value tile(const Operand& x, Integers repeats);

}  // namespace weft
