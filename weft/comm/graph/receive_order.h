// Decides in which order a rank is sent what its part of a graph reads of
// others.
//
// Each rank finds out for its own part what its senders keep to: the places of
// transfer_order.h, of the arguments that are placed elsewhere and of the
// values that others compute. A sender hands few bytes at a time to the
// network, so that what is there later may go first.
//
// Method: Hashemi, Abdu Jyothi and Campbell, "TicTac: Accelerating Distributed
//         Deep Learning with Communication Scheduling", MLSys 2019; enforced as
//         in its section 5, where what is sent is handed over.
// Threads: that of the engine. Collective: all ranks call these alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/topology.h"
#include "weft/compiler/flat/flat_graph.h"
#include "weft/runtime/plan/plan.h"

namespace weft {

enum class ReceiveOrder {
  kNone,     // as values are there, and arguments as the graph lists them
  kTic,      // what lets computing go on soonest, by the graph alone
  kTac,      // the same by times, which each rank measures before the first run
  kRandom,   // drawn anew by each sender in each run: what orders are held to
  kLastUse,  // what is read last goes first: the worst
};

// "none", "tic", "tac", "random" or "last_use". Throws Error(kInvalidArgument).
ReceiveOrder receive_order(std::string_view name);

// What a rank is best sent first.
struct ReceivePlaces {
  // One for each crossing: the smaller goes first. The same on all ranks.
  std::vector<std::size_t> by_crossing;
  // Seconds that this rank's part computes, and the efficiency that its own
  // order comes to with them, 1 at best (transfer_order.h); nothing where it
  // has none of its own.
  double computing = 0;
  std::optional<double> expected_efficiency = {};
};

// Those that all ranks keep to from now on; kNone has none, and kRandom's are
// random_places(). `part` is this rank's, whose regions are planned with
// `options` and timed: kTac goes by it, and efficiencies do. Throws what a plan
// throws, and the engine.
// Cost: each region is planned once more and run six times, on zeros.
ReceivePlaces agreed_places(ReceiveOrder order, const FlatGraph& part,
                            const PlanOptions& options, const Level& network,
                            Communicator& communicator, Engine& engine);
// This rank's own, in that run.
std::vector<std::size_t> random_places(std::size_t crossings, int rank,
                                       std::uint32_t run);

// What messages of all ranks to all cost here, as it is measured. Throws what
// the engine throws. Cost: comm/collective/calibration.h.
Level measured_network(Communicator& communicator, Engine& engine);

}  // namespace weft
