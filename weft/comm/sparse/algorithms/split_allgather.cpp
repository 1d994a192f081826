// SSAR_Split_allgather: partition j of every stream goes to rank j, which sums
// them; the sums, still sparse, are gathered by all. For larger contributions
// whose sum stays sparse.
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/fill.h"

namespace weft {
namespace {

Task<> split_allgather(Channel channel, Stream& stream, SparseOptions options) {
  const StreamType type = stream.type();
  Stream mine =
      co_await sum_partition(channel, std::move(stream), options, false);
  stream = co_await gather_partitions(channel, type, std::move(mine));
}

// Between 2 (P - 1) / P k (all supports equal) and P k (all disjoint).
SparseCost cost(const SparseWorkload& workload) {
  const Fill fill(workload);
  const int ranks = workload.ranks;
  const double pairs =
      workload.items * static_cast<double>(workload.type.pair_bytes());
  return {
      .messages = 1 + gather_steps(ranks),
      .bytes = (ranks - 1) * fill.part_bytes(1, ranks) + fill.gather_bytes(),
      .least_bytes = 2. * (ranks - 1) / ranks * pairs,
      .most_bytes = ranks * pairs,
      .compute_seconds = fill.tree_seconds(ranks, ranks)};
}

}  // namespace

void register_sparse_all_reduce_split_allgather(
    SparseAllReduceRegistry& registry) {
  registry.add({.name = "split_allgather",
                .summary = "each rank sums one partition; sums stay sparse",
                .cost = cost,
                .run = split_allgather});
}

}  // namespace weft
