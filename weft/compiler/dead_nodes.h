// Nodes that no result needs.
//
// Threads: pure function.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// `function` without them. Parameters stay, and so does code of the program.
Function eliminate_dead_nodes(const Function& function);

}  // namespace weft
