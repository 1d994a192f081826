// A server whose workers see parameters that lack at most so many steps of the
// others (stale synchronous parallel): see free_server.h.
#include "weft/train/sync/free_server.h"

namespace weft {

void register_sync_policy_stale_server(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "stale_server",
       .summary = "a server whose workers may be some steps ahead of others",
       .options = {{.name = "slack",
                    .value = std::int64_t{3},
                    .summary = "by which a worker may be ahead of the slowest",
                    .range = {.least = 0, .most = 1 << 30},
                    .unit = "steps"}},
       .updates_whole_model = false,
       .has_servers = true,
       .takes_credit = true,
       .is_repeatable = false,
       // An owner sees the gradients of its own buckets only.
       .clips_first = [](const Options&, const SyncRecipe&) { return true; },
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<FreeServer>(
             option<std::int64_t>(options, "slack"), context);
       }});
}

}  // namespace weft
