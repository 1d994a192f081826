// What the next step uses first goes first: gradients come in the opposite
// order.
#include "weft/train/sync/order.h"

namespace weft {
namespace {

std::vector<int> by_first_use(const Options&, const OrderContext& context) {
  return priorities_by_first_use(context.first_uses);
}

}  // namespace

void register_sync_order_first_use(SyncOrderRegistry& orders) {
  orders.add({.name = "first_use",
              .summary = "what the next step uses first goes first",
              .priorities = by_first_use});
}

}  // namespace weft
