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

// What [sync] topology says, read from its file if it names one. Throws
// Error(kInvalidArgument) for what is neither "auto" nor a topology.
std::string topology_text(const std::string& given);

struct Network {
  Topology topology;
  // The workers in the order of the topology: those of a host are neighbours,
  // however they were dealt out to hosts. A group of its own.
  Communicator communicator;
  std::string note;  // for people: why hosts were not told apart; or empty
};

// `topology` as topology_text() gives it, for as many ranks as `all` has. A
// topology that is given counts the ranks of a host first, unless hosts have
// different numbers of them or its levels do not end at a host: then it counts
// them as they are. Throws what the network throws. Cost: measuring takes up to
// a second per level (comm/collective/calibration.h).
Network network_of(Communicator& all, AsyncEngine& network,
                   const std::string& topology);

}  // namespace weft
