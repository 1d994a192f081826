// P3 (Jayarajan et al., "Priority-based Parameter Propagation for Distributed
// DNN Training", MLSys 2019, section 4): what the next step uses first goes
// first, parameters are cut into slices so that it need not wait for a whole
// one, no more are under way than keep cards busy, and each layer waits for its
// own alone.
#include "weft/base/ranges.h"
#include "weft/train/sync/order.h"

namespace weft {
namespace {

// Bytes of a parameter, whatever its codec makes of it.
constexpr std::int64_t kValueBytes = 4;

std::vector<int> p3_priorities(const Options&, const OrderContext& context) {
  return priorities_by_first_use(context.first_uses);
}

void p3_defaults(const Options& options, SyncRecipe& recipe) {
  recipe.slices = true;
  recipe.bucket_bytes = kValueBytes * option<std::int64_t>(options, "slice");
  recipe.credit =
      recipe.bucket_bytes * option<std::int64_t>(options, "under_way");
  recipe.overlap_forward = true;
}

}  // namespace

void register_sync_order_p3(SyncOrderRegistry& orders) {
  orders.add(
      {.name = "p3",
       .summary = "what is used first goes first, in slices: sets slices, "
                  "bucket_bytes, credit and overlap_forward",
       .options = {{.name = "slice",
                    // The paper's best is 50,000, on links of gigabits. One
                    // server's card sends a slice's answers to all workers
                    // while the others' may have nothing to send: on slow links
                    // the last ones of a layer are felt unless they are small.
                    .value = std::int64_t{10000},
                    .summary = "parameters in one slice",
                    .range = {.least = 1, .most = 1 << 28},
                    .unit = "values"},
                   {.name = "under_way",
                    // A server's receipt waits behind the answers that its
                    // card sends: fewer leave cards idle until it comes.
                    .value = std::int64_t{64},
                    .summary = "that nothing can overtake",
                    .range = {.least = 1, .most = 1 << 20},
                    .unit = "slices"}},
       .priorities = p3_priorities,
       .defaults = p3_defaults});
}

}  // namespace weft
