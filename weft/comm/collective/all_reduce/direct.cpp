// Everyone sends everything to all others: one latency, for tiny vectors.
#include <memory>

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"

namespace weft {
namespace {

// All ranks add in the order of ranks, for the same bits. What comes before the
// own vector is summed in the place of the first one; that and all the rest are
// then added to the own, as a sum of two does not depend on which comes first.
Task<> run_direct(std::vector<Channel> channels, DenseBuffer buffer, Options) {
  const Channel& channel = channels.front();
  const std::size_t bytes = buffer.bytes();
  std::unique_ptr<std::byte[]> vectors;
  if (buffer.data != nullptr) {
    vectors = std::make_unique_for_overwrite<std::byte[]>(
        bytes * static_cast<std::size_t>(channel.size()));
  }
  const auto vector_of = [&](int rank) -> std::byte* {
    return vectors ? vectors.get() + bytes * static_cast<std::size_t>(rank)
                   : nullptr;
  };
  Transfers transfers(channel);
  for (int distance = 1; distance < channel.size(); ++distance) {
    transfers.send((channel.rank() + distance) % channel.size(),
                   buffer.bytes(buffer.all()));
  }
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (peer != channel.rank())
      transfers.receive(peer, {vector_of(peer), bytes});
  }
  co_await transfers.all();
  const DenseBuffer first{buffer.dtype, vector_of(0), buffer.count};
  for (int rank = 1; rank < channel.rank(); ++rank) {
    co_await add(channel, vector_of(rank), first, first.all());
  }
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (rank == channel.rank() || (rank > 0 && rank < channel.rank())) continue;
    co_await add(channel, vector_of(rank), buffer, buffer.all());
  }
}

}  // namespace

void register_all_reduce_direct(AllReduceRegistry& registry) {
  registry.add(
      {.name = "direct",
       .summary = "all vectors to all ranks: one step, P - 1 times the bytes",
       .variants = only_defaults,
       .seconds =
           [](const Options&, const Topology& topology, double bytes) {
             const int ranks = topology.ranks();
             // The price is that of a scatter whose parts are whole vectors.
             return scatter_cost(topology, ScatterMethod::kDirect, {1, ranks},
                                 bytes * ranks)
                        .seconds() +
                    repeated_adding(topology, ranks - 1, bytes);
           },
       .run = run_direct});
}

}  // namespace weft
