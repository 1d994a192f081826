#include "weft/train/sync/order.h"

#include <algorithm>
#include <numeric>

namespace weft {

Call<SyncOrderDef> order_of(const SyncRecipe& recipe) {
  return parse_call(recipe.order, sync_order_registry(), "sync.order");
}

std::vector<int> priorities_of(const SyncRecipe& recipe,
                               const OrderContext& context) {
  const Call<SyncOrderDef> order = order_of(recipe);
  std::vector<int> priorities = order.def->priorities(order.options, context);
  WEFT_CHECK(priorities.size() == context.first_uses.size(),
             "an order gives each parameter a priority");
  return priorities;
}

bool has_priorities(const SyncRecipe& recipe) {
  return order_of(recipe).def->name != SyncRecipe().order;
}

std::vector<int> priorities_of_places(std::span<const std::size_t> places) {
  std::vector<int> priorities;
  for (const std::size_t place : places) {
    priorities.push_back(static_cast<int>(places.size() - place));
  }
  return priorities;
}

std::vector<int> priorities_by_first_use(std::span<const std::int64_t> uses) {
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A parameter that is shared is wanted where it is used first.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return uses[i]; });
  std::vector<std::size_t> places(uses.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
  }
  return priorities_of_places(places);
}

}  // namespace weft
