// The dense baseline: contributions are made dense, partition j goes to rank j,
// which sums them, and the sums are gathered. Every rank sends
// 2 (P - 1) / P N values, the least that any dense all-reduce can do.
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/fill.h"

namespace weft {
namespace {

Task<> dense(Channel channel, Stream& stream, SparseOptions options) {
  const StreamType type = stream.type();
  Stream all = sum(Stream::dense_zeros(type), std::move(stream));
  options.most_items = type.size;
  Stream mine = co_await sum_partition(channel, std::move(all), options, true);
  stream = co_await gather_partitions(channel, type, std::move(mine));
}

SparseCost cost(const SparseWorkload& workload) {
  const int ranks = workload.ranks;
  const StreamType& type = workload.type;
  const double bytes = 2. * (ranks - 1) / ranks *
                       static_cast<double>(type.size * type.value_bytes());
  return {
      .messages = 1 + gather_steps(ranks),
      .bytes = bytes,
      .least_bytes = bytes,
      .most_bytes = bytes,
      .compute_seconds = static_cast<double>(type.size) * workload.rates.add};
}

}  // namespace

void register_sparse_all_reduce_dense(SparseAllReduceRegistry& registry) {
  registry.add({.name = "dense",
                .summary = "all values, whether zero or not",
                .is_result_dense = true,
                .cost = cost,
                .run = dense});
}

}  // namespace weft
