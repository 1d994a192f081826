// What the next step uses first goes first (Jayarajan et al., "Priority-based
// Parameter Propagation for Distributed DNN Training", MLSys 2019, section 4):
// gradients come in the opposite order.
#include <algorithm>
#include <numeric>

#include "weft/train/sync/order.h"

namespace weft {
namespace {

std::vector<int> by_first_use(const Options&, const OrderContext& context) {
  const auto uses = context.first_uses;
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A parameter that is shared is wanted where it is used first.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return uses[i]; });
  std::vector<int> priorities(uses.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    priorities[order[place]] = static_cast<int>(order.size() - place);
  }
  return priorities;
}

}  // namespace

void register_sync_order_first_use(SyncOrderRegistry& orders) {
  orders.add({.name = "first_use",
              .summary = "what the next step uses first goes first",
              .priorities = by_first_use});
}

}  // namespace weft
