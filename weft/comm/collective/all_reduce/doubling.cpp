// Recursive doubling: whole vectors between ranks 1, 2, 4, … apart.
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"
#include "weft/comm/collective/power_of_two.h"

namespace weft {
namespace {

Task<> run_core(Channel channel, DenseBuffer buffer) {
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    const int peer = channel.rank() ^ distance;
    // What is sent must not change before it is gone.
    std::vector<std::byte> received(buffer.data == nullptr ? 0
                                                           : buffer.bytes());
    Transfers transfers(channel);
    transfers.receive(peer, {buffer.data == nullptr ? nullptr : received.data(),
                             buffer.bytes()});
    transfers.send(peer, buffer.bytes(buffer.all()));
    co_await transfers.all();
    co_await add(channel, received.data(), buffer, buffer.all());
  }
}

Task<> run_doubling(std::vector<Channel> channels, DenseBuffer buffer,
                    Options) {
  co_await on_power_of_two(channels.front(), buffer, run_core);
}

double predict(const Options&, const Topology& topology, double bytes) {
  const PowerOfTwo shape(topology.ranks());
  double seconds = 0;
  if (shape.folded > 0) {
    seconds += 2 * exchange_cost(topology, bytes, [&](int rank) {
                     return shape.position_of(rank) < 0 ? rank - 1 : -1;
                   }).seconds();
  }
  for (int distance = 1; distance < shape.core; distance *= 2) {
    seconds += exchange_cost(topology, bytes, [&](int rank) {
                 const int position = shape.position_of(rank);
                 return position < 0 ? -1 : shape.rank_of(position ^ distance);
               }).seconds();
  }
  return seconds;
}

}  // namespace

void register_all_reduce_doubling(AllReduceRegistry& registry) {
  registry.add({.name = "doubling",
                .summary = "recursive doubling of whole vectors: log2 P steps",
                .refusal = never_refused,
                .variants = only_defaults,
                .seconds = predict,
                .run = run_doubling});
}

}  // namespace weft
