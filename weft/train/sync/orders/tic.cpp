// TIC (Hashemi, Abdu Jyothi and Campbell, "TicTac: Accelerating Distributed
// Deep Learning with Communication Scheduling", MLSys 2019, algorithm 2): what
// little else must come to let computing begin goes first, by the graph alone.
#include <algorithm>
#include <ranges>

#include "weft/train/sync/bounded_order.h"

namespace weft {
namespace {

std::vector<int> by_graph(const Options&, const OrderContext& context) {
  const std::vector<std::size_t> places =
      timing_independent_order(context.graph);
  const std::vector<int> uses = priorities_by_first_use(context.first_uses);
  // The paper leaves open which of equals goes first: here, what is used first.
  std::vector<std::size_t> order(places.size());
  for (std::size_t a = 0; a < places.size(); ++a) {
    order[a] = static_cast<std::size_t>(std::ranges::count_if(
        std::views::iota(std::size_t{0}, places.size()), [&](std::size_t b) {
          return places[b] < places[a] ||
                 (places[b] == places[a] && uses[b] > uses[a]);
        }));
  }
  return priorities_of_places(order);
}

}  // namespace

void register_sync_order_tic(SyncOrderRegistry& orders) {
  orders.add({.name = "tic",
              .summary = "what lets computing go on soonest goes first, by the "
                         "graph: sets credit",
              .needs = OrderNeeds::kGraph,
              .priorities = by_graph,
              .defaults = bound_what_is_under_way});
}

}  // namespace weft
