#include "weft/train/sync/bounded_order.h"

#include "weft/train/sync/policy.h"

namespace weft {
namespace {

constexpr std::int64_t kBuckets = 4;

}  // namespace

void bound_what_is_under_way(const Options&, SyncRecipe& recipe) {
  if (policy_of(recipe).def->takes_credit) {
    recipe.credit = kBuckets * recipe.bucket_bytes;
  }
}

}  // namespace weft
