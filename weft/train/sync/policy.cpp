#include "weft/train/sync/policy.h"

namespace weft {

Call<SyncPolicyDef> policy_of(const SyncRecipe& recipe) {
  return parse_call(recipe.policy, sync_policy_registry(), "sync.policy");
}

}  // namespace weft
