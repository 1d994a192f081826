// Everyone sends everything to all others: one latency, for tiny vectors.
#include <cstring>
#include <memory>

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"

namespace weft {
namespace {

// Every rank copies and adds whole vectors, where others share that work: at
// this rate, of memory, it decides against vectors that are not tiny.
constexpr double kTouchedBytesPerSecond = 5e9;

// Added in the order of ranks, on all of them.
Task<> run_direct(std::vector<Channel> channels, DenseBuffer buffer, Options) {
  const Channel& channel = channels.front();
  const bool has_payload = buffer.data != nullptr;
  const std::size_t bytes = buffer.bytes();
  std::unique_ptr<std::byte[]> vectors;
  if (has_payload) {
    vectors = std::make_unique_for_overwrite<std::byte[]>(
        bytes * static_cast<std::size_t>(channel.size()));
  }
  const auto vector_of = [&](int rank) -> std::span<std::byte> {
    return {vectors ? vectors.get() + bytes * static_cast<std::size_t>(rank)
                    : nullptr,
            bytes};
  };
  Transfers transfers(channel);
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (peer != channel.rank()) transfers.receive(peer, vector_of(peer));
  }
  for (int distance = 1; distance < channel.size(); ++distance) {
    transfers.send((channel.rank() + distance) % channel.size(),
                   buffer.bytes(buffer.all()));
  }
  if (has_payload && bytes > 0) {
    std::memcpy(vector_of(channel.rank()).data(), buffer.data, bytes);
  }
  co_await transfers.all();
  if (has_payload && bytes > 0) {
    std::memcpy(buffer.data, vectors.get(), bytes);
  }
  for (int rank = 1; rank < channel.size(); ++rank) {
    co_await add(channel, vector_of(rank).data(), buffer, buffer.all());
  }
}

}  // namespace

void register_all_reduce_direct(AllReduceRegistry& registry) {
  registry.add(
      {.name = "direct",
       .summary = "all vectors to all ranks: one step, P - 1 times the bytes",
       .refusal = never_refused,
       .variants = only_defaults,
       .seconds =
           [](const Options&, const Topology& topology, double bytes) {
             const int ranks = topology.ranks();
             return scatter_cost(topology, ScatterMethod::kDirect, {1, ranks},
                                 bytes * ranks)
                        .seconds() +
                    (ranks + 2) * bytes / kTouchedBytesPerSecond;
           },
       .run = run_direct});
}

}  // namespace weft
