// SSAR_Recursive_double: in step s whole streams are exchanged with the rank
// 2^s away and summed. Few messages; for small contributions.
//
// Other numbers of ranks than powers of two: the even ones of the first ranks
// hand their stream to their odd neighbours before, and get the result after.
#include <bit>

#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/timeline.h"

namespace weft {
namespace {

// first + second, charged for.
Task<> add(Channel channel, Stream first, Stream second, SumRates rates,
           Stream& result) {
  co_await channel.pause(sum_seconds(first, second, rates));
  result = sum(std::move(first), std::move(second));
}

Task<> recursive_double(Channel channel, Stream& stream,
                        SparseOptions options) {
  const int ranks = channel.size();
  const int rank = channel.rank();
  const int doubled =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const int rest = ranks - doubled;
  const bool has_neighbour = rank < 2 * rest;
  const StreamType type = stream.type();
  std::uint64_t most = std::min(options.most_items, type.size);

  if (has_neighbour && rank % 2 == 0) {
    Transfer sent = channel.send(rank + 1, stream.message());
    co_await sent;
    // The sum may have items everywhere.
    stream = co_await receive_stream(channel, rank + 1, type, type.size);
    co_return;
  }
  if (has_neighbour) {
    Stream lower = co_await receive_stream(channel, rank - 1, type, most);
    co_await add(channel, std::move(lower), std::move(stream), options.rates,
                 stream);
  }
  // A stream may hold two contributions by now, whoever has taken one in.
  if (rest > 0) most *= 2;

  const int virtual_rank = has_neighbour ? rank / 2 : rank - rest;
  for (int mask = 1; mask < doubled; mask *= 2, most *= 2) {
    const int virtual_peer = virtual_rank ^ mask;
    const int peer =
        virtual_peer < rest ? 2 * virtual_peer + 1 : virtual_peer + rest;
    Transfer sent = channel.send(peer, stream.message());
    Stream theirs =
        co_await receive_stream(channel, peer, type, std::min(most, type.size));
    co_await sent;
    // The lower one first on both sides: the same sum, bit for bit.
    const bool is_lower = virtual_rank < virtual_peer;
    co_await add(channel, std::move(is_lower ? stream : theirs),
                 std::move(is_lower ? theirs : stream), options.rates, stream);
  }
  if (has_neighbour) {
    Transfer sent = channel.send(rank - 1, stream.message());
    co_await sent;
  }
}

// A rank sends between log2(P) k (all supports equal) and (P - 1) k (all
// disjoint).
SparseCost recursive_double_cost(const SparseWorkload& workload,
                                 const Level& network) {
  const Timeline timeline(workload, network);
  const unsigned ranks = static_cast<unsigned>(workload.ranks);
  const unsigned doubled = std::bit_floor(ranks);
  const int steps = std::countr_zero(doubled);
  const double pairs = workload.support.items() *
                       static_cast<double>(workload.type.pair_bytes());
  SparseCost cost{.least_bytes = steps * pairs,
                  .most_bytes = (workload.ranks - 1) * pairs};
  int messages = steps;
  const Doubling sums =
      timeline.doubling(steps, static_cast<double>(ranks) / doubled);
  for (std::size_t i = 0; i < sums.bytes.size(); ++i) {
    cost.bytes += sums.bytes[i];
    cost.seconds += sums.seconds[i];
  }
  if (doubled < ranks) {
    const Doubling before = timeline.doubling(1, 1);
    const Doubling after = timeline.doubling(1, ranks);
    messages += 2;
    cost.bytes += before.bytes[0] + after.bytes[0];
    cost.seconds += before.seconds[0];
    cost.most_bytes += workload.ranks * pairs;
  }
  cost.seconds += messages * (network.latency +
                              Stream::kHeaderBytes * network.seconds_per_byte) +
                  cost.bytes * network.seconds_per_byte;
  return cost;
}

}  // namespace

void register_sparse_all_reduce_recursive_double(
    SparseAllReduceRegistry& registry) {
  registry.add({.name = "recursive_double",
                .summary = "whole streams between ranks 1, 2, 4, … apart",
                .cost = recursive_double_cost,
                .run = recursive_double});
}

}  // namespace weft
