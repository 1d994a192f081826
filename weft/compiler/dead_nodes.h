// Nodes that no result needs.
//
// Threads: pure function.
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

// Which nodes run even if nobody reads what they give: code of the program, as
// it may do more than compute. But a gradient of its own that is made from
// seeds (ops/custom_gradient.h) runs where somebody asks for it, as a copy.
std::vector<bool> runs_unread(const Function& function);

// `function` without them: as it is, where there are none. Parameters stay, and
// so does what runs_unread().
Function eliminate_dead_nodes(Function function);

}  // namespace weft
