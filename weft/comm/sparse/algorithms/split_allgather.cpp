// SSAR_Split_allgather: partition j of every stream goes to rank j, which sums
// them; the sums, still sparse, are gathered by all. For larger contributions
// whose sum stays sparse.
#include <numeric>

#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/timeline.h"

namespace weft {
namespace {

Task<> split_allgather(Channel channel, Stream& stream, SparseOptions options) {
  const StreamType type = stream.type();
  Stream mine =
      co_await sum_partition(channel, std::move(stream), options, false);
  stream = co_await gather_partitions(
      channel, type, partitions_of(options, type, channel.size()),
      std::move(mine));
}

// A rank sends between 2 (P - 1) / P k (all supports equal) and P k (all
// disjoint).
SparseCost split_allgather_cost(const SparseWorkload& workload,
                                const Level& network) {
  const Timeline timeline(workload, network);
  const int ranks = workload.ranks;
  const double pairs = workload.support.items() *
                       static_cast<double>(workload.type.pair_bytes());
  std::vector<double> sums = timeline.part_bytes(ranks);
  const double gathered = std::reduce(sums.begin(), sums.end());
  for (double& bytes : sums) bytes += Stream::kHeaderBytes;
  return {.seconds = timeline.sum_partition_seconds(false) + network.latency +
                     gather_seconds(sums, network),
          .bytes = timeline.received_bytes() + gathered * (ranks - 1) / ranks,
          .least_bytes = 2. * (ranks - 1) / ranks * pairs,
          .most_bytes = ranks * pairs};
}

}  // namespace

void register_sparse_all_reduce_split_allgather(
    SparseAllReduceRegistry& registry) {
  registry.add({.name = "split_allgather",
                .summary = "each rank sums one partition; sums stay sparse",
                .is_partitioned = true,
                .cost = split_allgather_cost,
                .run = split_allgather});
}

}  // namespace weft
