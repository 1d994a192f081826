#include "weft/train/sync/order.h"

namespace weft {

std::vector<int> priorities_of(const SyncRecipe& recipe,
                               const OrderContext& context) {
  const auto order =
      parse_call(recipe.order, sync_order_registry(), "sync.order");
  std::vector<int> priorities = order.def->priorities(order.options, context);
  WEFT_CHECK(priorities.size() == context.first_uses.size(),
             "an order gives each parameter a priority");
  return priorities;
}

bool has_priorities(const SyncRecipe& recipe) {
  return parse_call(recipe.order, sync_order_registry(), "sync.order")
             .def->name != SyncRecipe().order;
}

}  // namespace weft
