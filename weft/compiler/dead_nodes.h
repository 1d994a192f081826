// Nodes that no result needs.
//
// Threads: pure function.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// `function` without them: as it is, where there are none. Parameters stay, and
// so does code of the program.
Function eliminate_dead_nodes(Function function);

}  // namespace weft
