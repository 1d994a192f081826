// One rank of each machine speaks for it: reduce inside, ring among leaders,
// broadcast inside. While leaders talk, the other ranks wait.
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"
#include "weft/comm/collective/rooted.h"

namespace weft {
namespace {

int group_of(const Options& options) {
  return static_cast<int>(option<std::int64_t>(options, "group"));
}

Task<> run_leaders(std::vector<Channel> channels, DenseBuffer buffer,
                   Options options) {
  const Channel& channel = channels.front();
  const int group = group_of(options);
  const int first = channel.rank() / group * group;
  std::vector<int> neighbours;
  for (int i = 0; i < group; ++i) neighbours.push_back(first + i);
  const Channel inside = channel.among(neighbours);
  // Three operations of one channel follow each other on every rank, so
  // messages of one are never taken for those of the next.
  co_await reduce(RootedMethod::kCut, inside, buffer, 0);
  if (channel.rank() == first) {
    std::vector<int> leaders;
    for (int i = 0; i < channel.size(); i += group) leaders.push_back(i);
    const Channel across = channel.among(leaders);
    const Parts parts = Parts::near_equal(buffer.all(), across.size());
    co_await reduce_scatter(ScatterMethod::kRing, across, buffer, parts);
    co_await all_gather(ScatterMethod::kRing, across, buffer, parts);
  }
  co_await broadcast(RootedMethod::kCut, inside, buffer, 0);
}

std::optional<Refusal> leaders_decline(const Options& options,
                                       const Topology& topology) {
  const int ranks = topology.ranks();
  if (ranks % group_of(options) == 0) return std::nullopt;
  return Refusal{
      fmt::format("{} ranks", ranks),
      fmt::format("they are not groups of {}", group_of(options)),
      "give the number of ranks of a machine, which is the same for all"};
}

double predict_leaders(const Options& options, const Topology& topology,
                       double bytes) {
  const int group = group_of(options);
  const int leaders = topology.ranks() / group;
  // Ranks send to the leader, or hear from it, one after the other.
  ExchangeCost rooted;
  for (int d = 1; d < group; ++d) {
    const ExchangeCost cost = exchange_cost(
        topology, bytes / group,
        [&](int rank) { return rank % group == d ? rank - d : -1; });
    rooted.latency = std::max(rooted.latency, cost.latency);
    rooted.transfer += cost.transfer;
  }
  const ExchangeCost inside =
      scatter_cost(topology, ScatterMethod::kRing, {1, group}, bytes);
  const ExchangeCost step =
      exchange_cost(topology, bytes / leaders, [&](int rank) {
        return rank % group == 0 ? (rank + group) % topology.ranks() : -1;
      });
  // The way back takes as long as the way there: each stage sends the same
  // messages.
  return 2 *
         (inside.seconds() + rooted.seconds() + (leaders - 1) * step.seconds());
}

}  // namespace

void register_all_reduce_leaders(AllReduceRegistry& registry) {
  registry.add(
      {.name = "leaders",
       .summary = "reduce to a leader per machine, ring of leaders, broadcast",
       .options = {{"group",
                    std::int64_t{1},
                    "how many a machine has",
                    {.least = 1, .most = Topology::kMostRanks},
                    {},
                    "ranks"}},
       .declines = leaders_decline,
       .variants =
           [](const Topology& topology) {
             std::vector<Options> variants;
             std::int64_t group = 1;
             for (const Level& level : topology.levels) {
               // A machine may be a unit of any level; the whole network is
               // none.
               group *= level.size;
               if (group > 1 && group < topology.ranks()) {
                 variants.push_back({{"group", group}});
               }
             }
             return variants;
           },
       .seconds = predict_leaders,
       .run = run_leaders});
}

}  // namespace weft
