// Whether two functions compute the same by the same nodes, in whatever order
// these stand.
//
// Threads: pure functions.
#pragma once

#include <cstddef>

#include "weft/graph/function.h"

namespace weft {

// Equal for functions of one structure. Takes time in proportion to the
// function; differs between builds.
std::size_t structural_hash(const Function& function);

// Whether ops, attributes, operands, parameters and results are the same but
// for the order of nodes, names and locations. Nodes that no result needs do
// not count.
bool have_one_structure(const Function& a, const Function& b);

}  // namespace weft
