// TAC (Hashemi, Abdu Jyothi and Campbell, "TicTac: Accelerating Distributed
// Deep Learning with Communication Scheduling", MLSys 2019, algorithm 3): what
// lets most computing go on for the time that it takes to come goes first.
// Computing is timed on the first worker, five runs before training; what a
// parameter takes to come is its bytes, as f32, over the network.
#include "weft/train/sync/bounded_order.h"

namespace weft {
namespace {

std::vector<int> by_times(const Options&, const OrderContext& context) {
  return priorities_of_places(timing_aware_order(context.graph));
}

}  // namespace

void register_sync_order_tac(SyncOrderRegistry& orders) {
  orders.add({.name = "tac",
              .summary = "what lets computing go on soonest goes first, by "
                         "measured times: sets credit",
              .needs = OrderNeeds::kTimes,
              .priorities = by_times,
              .defaults = bound_what_is_under_way});
}

}  // namespace weft
