// Ops that put tensors together along axes, and take them apart.
#pragma once

#include <vector>

#include "weft/graph/context.h"

namespace weft {

// At least one operand, of one dtype; they differ in `axis` only. Throws
// Error(kInvalidArgument) otherwise.
Value concat(std::span<const Value> xs, std::int64_t axis,
             std::source_location where = std::source_location::current());
// Cuts an axis of known size into parts of the given sizes. Throws
// Error(kInvalidArgument) unless they add up to it.
std::vector<Value> split(const Operand& x, const Integers& sizes,
                         std::int64_t axis);
// Repeats the whole tensor repeats[i] times along axis i, at least once.
Value tile(const Operand& x, Integers repeats);

}  // namespace weft
