// Recursive doubling: whole vectors between ranks 1, 2, 4, … apart.
#include <memory>

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"
#include "weft/comm/collective/power_of_two.h"

namespace weft {
namespace {

Task<> run_core(Channel channel, PowerOfTwo shape, DenseBuffer buffer) {
  std::unique_ptr<std::byte[]> scratch;
  if (buffer.data != nullptr) {
    scratch = std::make_unique_for_overwrite<std::byte[]>(buffer.bytes());
  }
  const int position = shape.position_of(channel.rank());
  for (int distance = 1; distance < shape.core; distance *= 2) {
    const int peer = shape.rank_of(position ^ distance);
    // Both begin before either is waited for: two ranks that each sent first
    // and then received could wait for each other.
    Transfer sent = channel.send(peer, buffer.bytes(buffer.all()));
    Transfer received = channel.receive(peer, {scratch.get(), buffer.bytes()});
    co_await received;
    // What is sent must not change before it is gone.
    co_await sent;
    // Both sides of a pair compute the same bits, as a + b is b + a.
    co_await add(channel, scratch.get(), buffer, buffer.all());
  }
}

Task<> run_doubling(std::vector<Channel> channels, DenseBuffer buffer,
                    Options) {
  return on_power_of_two(std::move(channels.front()), buffer, run_core);
}

double predict_doubling(const Options&, const Topology& topology,
                        double bytes) {
  const PowerOfTwo shape(topology.ranks());
  const int vectors = std::countr_zero(static_cast<unsigned>(shape.core)) +
                      (shape.folded > 0 ? 1 : 0);
  double seconds = repeated_adding(topology, vectors, bytes);
  if (shape.folded > 0) {
    // Those that do not take part hand their vector over, and get the sum.
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
                .variants = only_defaults,
                .seconds = predict_doubling,
                .run = run_doubling});
}

}  // namespace weft
