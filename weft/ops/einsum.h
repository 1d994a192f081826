// Sums of products by Einstein's notation, as numpy.einsum has them.
#pragma once

#include <span>
#include <string>

#include "weft/graph/context.h"

namespace weft {

// "ij,jk->ik": axes of one letter are gone through together, and summed over
// unless the result has it. A letter that an operand has twice takes its
// diagonal, "..." stands for any axes, broadcast from the last on, and an axis
// of size 1 is repeated. Without "->" the result has the axes of "...", then
// the letters that come once, in order of the alphabet.
//
// Any number of operands: they are multiplied in pairs, always the cheapest one
// next.
Value einsum(const std::string& equation, std::span<const Value> operands,
             std::source_location where = std::source_location::current());

}  // namespace weft
