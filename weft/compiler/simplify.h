// Rewrites a function, before it is planned, into one that computes the same
// with fewer and simpler nodes: composites without a kernel of their own are
// lowered, equal nodes are merged, no-ops and unused nodes disappear.
//
// Threads: pure functions.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// All of the above. Dims must be static, since kernels are asked. Unless
// `may_reassociate`, every result keeps its bits.
Function simplify(const Function& function, bool may_reassociate = true);

// `function` without the nodes that no result needs. Parameters stay.
Function eliminate_dead_nodes(const Function& function);

}  // namespace weft
