// The network between the workers: as [sync] topology says, in its text form or
// in a file that holds it, or, for "auto", as measured.
//
// Threads: caller synchronises. Collective.
#pragma once

#include <string>

#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/topology.h"

namespace weft {

// Throws Error(kInvalidArgument) when the recipe's topology has another number
// of ranks.
Topology network_of(Communicator& communicator, AsyncEngine& network,
                    const std::string& topology);

}  // namespace weft
