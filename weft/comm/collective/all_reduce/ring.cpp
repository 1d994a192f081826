// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations" (2009): a reduce-scatter and an all-gather around one ring.
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"

namespace weft {
namespace {

Task<> run_ring(std::vector<Channel> channels, DenseBuffer buffer, Options) {
  const Channel& channel = channels.front();
  const Parts parts = Parts::near_equal(buffer.all(), channel.size());
  co_await reduce_scatter(ScatterMethod::kRing, channel, buffer, parts);
  co_await all_gather(ScatterMethod::kRing, channel, buffer, parts);
}

}  // namespace

void register_all_reduce_ring(AllReduceRegistry& registry) {
  registry.add(
      {.name = "ring",
       .summary =
           "one ring in the order of ranks: least bytes, 2 (P - 1) steps",
       .variants = only_defaults,
       .seconds =
           [](const Options&, const Topology& topology, double bytes) {
             return 2 * scatter_cost(topology, ScatterMethod::kRing,
                                     {1, topology.ranks()}, bytes)
                            .seconds();
           },
       .run = run_ring});
}

}  // namespace weft
