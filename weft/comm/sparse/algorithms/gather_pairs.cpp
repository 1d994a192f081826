// The baseline: all contributions are gathered by all, who sum them alone.
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/timeline.h"

namespace weft {
namespace {

Task<> gather_pairs(Channel channel, Stream& stream, SparseOptions options) {
  const StreamType type = stream.type();
  const GatheredMessages messages = co_await gather_messages(
      channel, stream.message(), type.most_bytes(options.most_items));
  // All ranks add in the order of ranks, by the same tree: the bits are the
  // same.
  SumTree tree(options.rates);
  double seconds = 0;
  for (int i = 0; i < channel.size(); ++i) {
    seconds += tree.add(copy_stream(messages.of[static_cast<std::size_t>(i)],
                                    type, name_of(channel, i)));
  }
  seconds += tree.finish();
  co_await channel.pause(seconds);
  stream = std::move(tree).result();
}

// (P - 1) k, whatever the overlap.
SparseCost gather_pairs_cost(const SparseWorkload& workload,
                             const Level& network) {
  const Timeline timeline(workload, network);
  const double mine =
      timeline.bytes(workload.support.items(), workload.support.size());
  const double bytes = (workload.ranks - 1) * mine;
  const std::vector<double> messages(static_cast<std::size_t>(workload.ranks),
                                     mine + Stream::kHeaderBytes);
  return {
      .seconds = gather_seconds(messages, network) + timeline.tree_seconds(),
      .bytes = bytes,
      .least_bytes = bytes,
      .most_bytes = bytes};
}

}  // namespace

void register_sparse_all_reduce_gather_pairs(
    SparseAllReduceRegistry& registry) {
  registry.add({.name = "gather_pairs",
                .summary = "every rank gets all contributions and sums them",
                .cost = gather_pairs_cost,
                .run = gather_pairs});
}

}  // namespace weft
