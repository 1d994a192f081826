// Functions in phases (graph/phases.h), without the phases that nothing needs.
//
// A joint function has a phase for each gradient that could be asked for. Of a
// joint's joint, which has four, a Jacobian-vector product asks for the third
// alone, and so does an activation for that of every call within it. An
// activation ends when all its phases have run, so what is never entered must
// not be waited for; and what is entered in vain costs a pass backward.
//
// Threads: pure function.
#pragma once

#include <string_view>

#include "weft/graph/function.h"

namespace weft {

// The functions that `entry` needs, each in the phases that lead to a result
// of `entry`: a call in one phase is a plain call. Function names say which
// phases are left, and begin as they did. Its loops are calls
// (ops/support/recursion.h).
Graph needed_phases(const Graph& graph, std::string_view entry);

}  // namespace weft
