#include "weft/train/sync/policy.h"

namespace weft {

Call<SyncPolicyDef> policy_of(const SyncRecipe& recipe) {
  return parse_call(recipe.policy, sync_policy_registry(), "sync.policy");
}

SyncContext SyncContext::among(Communicator& group) const {
  return {.communicator = group,
          .network = network,
          .recipe = recipe,
          .optimizer = optimizer,
          .roles = roles,
          .clip_norm = clip_norm,
          .seed = seed,
          .executables = executables,
          .price = price,
          .trainable = trainable,
          .statistics = statistics,
          .buckets = buckets};
}

}  // namespace weft
