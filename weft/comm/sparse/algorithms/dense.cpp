// Contributions are made dense and summed as dense vectors are. Every rank
// sends 2 (P - 1) / P N values, the least that any dense all-reduce can do.
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/timeline.h"

namespace weft {
namespace {

Task<> dense(Channel channel, Stream& stream, SparseOptions) {
  Stream zeros = Stream::dense_zeros(stream.type());
  stream = sum(std::move(zeros), std::move(stream));
  const DenseBuffer buffer = stream.type().dtype == DType::kF64
                                 ? weft::dense(stream.mutable_values<double>())
                                 : weft::dense(stream.mutable_values<float>());
  co_await sum_dense(channel, buffer);
}

// What is added while more arrives costs nothing extra.
SparseCost dense_cost(const SparseWorkload& workload, const Level& network) {
  const int ranks = workload.ranks;
  const auto value_bytes = static_cast<double>(workload.type.value_bytes());
  const double values = (ranks - 1.) / ranks * workload.support.size();
  const double bytes = 2 * values * value_bytes;
  const double moved = value_bytes * network.seconds_per_byte;
  return {.seconds = 2 * gather_steps(ranks) * network.latency +
                     values * (std::max(moved, workload.rates.add) + moved),
          .bytes = bytes,
          .least_bytes = bytes,
          .most_bytes = bytes};
}

}  // namespace

void register_sparse_all_reduce_dense(SparseAllReduceRegistry& registry) {
  registry.add({.name = "dense",
                .summary = "all values, whether zero or not",
                .is_result_dense = true,
                .cost = dense_cost,
                .run = dense});
}

}  // namespace weft
