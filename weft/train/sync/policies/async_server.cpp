// A server whose workers never wait for each other within a round: see
// free_server.h.
#include "weft/train/sync/free_server.h"

namespace weft {

void register_sync_policy_async_server(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "async_server",
       .summary = "a server whose workers do not wait for each other",
       .updates_whole_model = false,
       .has_servers = true,
       .takes_credit = true,
       .is_repeatable = false,
       // An owner sees the gradients of its own buckets only.
       .clips_first = [](const Options&, const SyncRecipe&) { return true; },
       .make = [](const Options&,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<FreeServer>(std::nullopt, context);
       }});
}

}  // namespace weft
