// Rewrites the all_reduce ops of a function for a network of hosts:
//
//   all_reduce(x, group)
//
// becomes, where a group has the same number of ranks on every host,
//
//   reshape to one axis
//   reduce_scatter  among the ranks of a host
//   all_reduce      among the ranks of one position on all hosts
//   all_gather      among the ranks of a host
//   reshape back
//
// so that little travels between hosts, and by all ranks at once. The
// all_reduce in the middle is treated alike; its groups have one rank per
// host, and their ranks are taken in pairs. Sums are added in another order:
// integers stay the same, floats round differently.
//
// Source: Cho, Finkler, Kung, Hunter, "BlueConnect: Decomposing All-Reduce for
// Deep Learning on Heterogeneous Network Hierarchy", MLSys 2019; the conditions
// are those of the pass of that name in XLA.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// What became of one all_reduce.
struct BlueConnectDecision {
  NodeId node;  // in the function that was given
  // The sizes of the scatter groups, outermost op first: none if the node was
  // left alone.
  Integers scatter_sizes;
  // Why the node, or the all_reduce that is left of it, stays as it is.
  std::string reason;
};

// "all_reduce 2: scattered among 4, then 2; the rest stays: …", for people.
std::string to_string(const BlueConnectDecision& decision);

struct BlueConnectRewrite {
  Function function;
  std::vector<BlueConnectDecision> decisions;  // one per all_reduce
};

// `hosts` has a name per rank: equal names, equal machines. A node stays as it
// is unless
//   - each of its groups has the same number of ranks on each of its hosts,
//   - that number, or 2 if it is 1, divides the group into at least 2,
//   - it is the same for all groups,
//   - the number of elements is known, and divisible by it.
// The result is a fixed point: rewriting it again changes nothing.
// Throws Error(kInvalidArgument) if a node is for another number of ranks.
BlueConnectRewrite rewrite_blueconnect(const Function& function,
                                       std::span<const std::string> hosts);

}  // namespace weft
