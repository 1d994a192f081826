// Finding out the topology of the network that runs this.
//
// Levels come from host names: ranks of a host, then hosts. Latency and rate
// of each are measured by a message that goes around all ranks of the level,
// or one of each host: the least time per size, and the line through the sizes
// that is best by relative error. All are awake then, as in a collective: where
// they share cores, a hop takes until its receiver has one. Between hosts a
// stream of messages follows (steady_rate.h): a card that keeps less than
// single messages have shown, as behind a token bucket, has the rate that it
// keeps.
//
// Threads: as Communicator.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/topology.h"

namespace weft {

// Where the ranks of a communicator are.
struct Placement {
  int ranks_per_host = 1;
  int hosts = 1;
  // order[i] is the rank that should be number i, so that the ranks of a host
  // are adjacent; the identity where they are.
  Ranks order;
  // Why the ranks are taken for one flat level; empty if they are not.
  std::string flat_because;
};
Placement placement_of(std::span<const std::string> hosts);
Placement placement_of(const Communicator& communicator);

// Measures; all ranks return the same, that of rank 0. Ranks are numbered as
// in `placement.order`. Entered by all ranks at the same point.
// Cost: some tens of milliseconds on a fast network, about a second per level
// on a slow one, and another between hosts; where ten rounds of the smallest
// message take longer, so long.
Task<Topology> calibrate(Communicator& communicator,
                         const Placement& placement);

// Seconds for a message of so many bytes, and the (latency, seconds_per_byte)
// that fit best.
struct Timing {
  double bytes = 0;
  double seconds = 0;
};
Level fit_level(int size, std::span<const Timing> timings);

// A file that holds the text form alone. Throws Error(kUnavailable) or, for
// damaged text, Error(kInvalidArgument).
Topology read_topology(const std::string& path);

}  // namespace weft
