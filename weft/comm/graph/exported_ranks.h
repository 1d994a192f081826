// A function of a file (files/exported.h) that several ranks run, each of which
// read it and calls this alike.
//
// Threads: caller synchronises.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/comm/graph/receive_order.h"
#include "weft/comm/transport/transport.h"
#include "weft/files/exported.h"

namespace weft {

struct PartsOptions {
  std::string placement = {};  // what parse_placement() reads
  // The ranks that have what the function captured, its weights, about as many
  // bytes each; others are sent what they compute with, in every run. Empty:
  // all ranks have all of it.
  std::vector<int> weights = {};
  ReceiveOrder order = ReceiveOrder::kNone;
  // The network, as parse_topology() reads it; empty: it is measured where an
  // order asks.
  std::string topology = {};
  int times = 1;  // that it is run
  TaggedOptions tagged = {};
};

// Runs the function on ranks that compute a part each
// (comm/graph/partitioned.h) and are given all arguments. The results are rank
// 0's, and undefined on others. With an order, or several times, `said` gets a
// line for each run: how long it took this rank, and the efficiency. Throws
// Error(kUnsupported) for a function that assigns variables,
// Error(kInvalidArgument) for weights on ranks that there are not, and as
// Partitioned does.
std::vector<Tensor> run_parts(const ExportedFunction& function,
                              const std::vector<Tensor>& arguments,
                              const PartsOptions& options, Transport& transport,
                              std::string& said);

// Runs the function on ranks that each run all of it on arguments of their own;
// its collective ops exchange over `transport` as `collective` says, "ring",
// "halving" or "direct" (comm/collective/scatter_gather.h). With "blueconnect"
// its all_reduce ops are first taken apart for the hosts
// (comm/graph/blueconnect_rewrite.h), and `said` gets what became of each.
// Returns this rank's results. Throws Error(kUnsupported) for a function that
// assigns variables, Error(kInvalidArgument) for ops of another number of
// ranks, and what the engine does.
std::vector<Tensor> run_together(const ExportedFunction& function,
                                 const std::vector<Tensor>& arguments,
                                 std::string_view collective,
                                 Transport& transport, std::string& said);

}  // namespace weft
