// As gradients come, which is from the last layer to the first.
#include "weft/train/sync/order.h"

namespace weft {

void register_sync_order_backward(SyncOrderRegistry& orders) {
  orders.add({.name = "backward",
              .summary = "as gradients come: the last layer first",
              .priorities = [](const Options&, const OrderContext& context) {
                return std::vector<int>(context.first_uses.size(), 0);
              }});
}

}  // namespace weft
