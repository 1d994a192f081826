// What the next step uses last goes first, the worst that there is: what an
// order is worth is measured against it (Hashemi, Abdu Jyothi and Campbell,
// "TicTac: Accelerating Distributed Deep Learning with Communication
// Scheduling", MLSys 2019, section 6).
#include "weft/train/sync/order.h"

namespace weft {
namespace {

std::vector<int> by_last_use(const Options&, const OrderContext& context) {
  std::vector<int> priorities = priorities_by_first_use(context.first_uses);
  for (int& priority : priorities) priority = -priority;
  return priorities;
}

}  // namespace

void register_sync_order_last_use(SyncOrderRegistry& orders) {
  orders.add({.name = "last_use",
              .summary = "what the next step uses last goes first: the worst",
              .priorities = by_last_use});
}

}  // namespace weft
