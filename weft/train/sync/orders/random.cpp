// At random, another in each step: what executors without an order do, so that
// orders are measured against it (Hashemi, Abdu Jyothi and Campbell, "TicTac:
// Accelerating Distributed Deep Learning with Communication Scheduling", MLSys
// 2019, section 6).
#include <algorithm>

#include "weft/base/permutation.h"
#include "weft/train/sync/order.h"

namespace weft {
namespace {

std::vector<int> at_random(const Options&, const OrderContext& context) {
  const auto size = context.first_uses.size();
  // Another stream than those of batches and weights, which the seed is for,
  // too.
  constexpr std::uint32_t kStream = 0x6f726472;
  const Permutation places(std::max<std::size_t>(size, 1), context.seed,
                           kStream, static_cast<std::uint32_t>(context.step));
  std::vector<int> priorities;
  for (std::size_t i = 0; i < size; ++i) {
    priorities.push_back(static_cast<int>(places(i)));
  }
  return priorities;
}

}  // namespace

void register_sync_order_random(SyncOrderRegistry& orders) {
  orders.add({.name = "random",
              .summary = "at random, by the seed; another in each step",
              .is_drawn_anew = true,
              .priorities = at_random});
}

}  // namespace weft
