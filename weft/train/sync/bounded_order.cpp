#include "weft/train/sync/bounded_order.h"

#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/policy.h"

namespace weft {
namespace {

constexpr std::int64_t kBuckets = 4;

}  // namespace

void bound_what_is_under_way(const Options&, SyncRecipe& recipe) {
  const SyncPolicyDef& policy = *policy_of(recipe).def;
  if (!policy.takes_credit) return;
  // A collective holds back whole buckets, of which such a rule wants all.
  if (policy.uses_collective && looks_at_whole_gradients(recipe)) return;
  recipe.credit = kBuckets * recipe.bucket_bytes;
}

}  // namespace weft
