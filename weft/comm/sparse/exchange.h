// What the algorithms have in common: messages whose sizes the receiver does
// not know.
//
// Threads: as the transport.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/comm/collective/dense.h"
#include "weft/comm/sparse/all_reduce.h"

namespace weft {

// A stream of `type` with at most `most_items`, from `peer`. Throws
// Error(kDataLoss) naming the rank for a message that is none.
Task<Stream> receive_stream(Channel channel, int peer, StreamType type,
                            std::uint64_t most_items);

// One message of each rank.
struct GatheredMessages {
  RawBytes memory;
  std::vector<std::span<const std::byte>> of;  // by rank
};

// "rank 3": the member's rank on the transport, for errors.
std::string name_of(const Channel& channel, int peer);

// Gives every rank the messages of all, of at most `most` bytes each, in
// ceil(log2 P) steps that send each message on once: what a rank holds is
// sent to the rank 1, 2, 4, … before it (Bruck et al., "Efficient algorithms
// for all-to-all communications in multiport message-passing systems", 1997).
// `mine` must live until the task is over. Throws Error(kDataLoss) naming the
// rank whose lengths do not go with what it sent.
Task<GatheredMessages> gather_messages(Channel channel,
                                       std::span<const std::byte> mine,
                                       std::size_t most);

// The stream in a message that others hold. Throws as Stream::from_message().
Stream copy_stream(std::span<const std::byte> message, const StreamType& type,
                   std::string_view where);

// Those of the options, or even ones.
Partitions partitions_of(const SparseOptions& options, const StreamType& type,
                         int ranks);

// Step one of the algorithms that split: every rank sends partition j to rank
// j, which adds up what it gets. Gives this rank's partition of the sum.
// `is_dense` says whether it is added up in a dense stream from the start.
// Throws Error(kDataLoss) naming the rank whose part is damaged.
Task<Stream> sum_partition(Channel channel, Stream stream,
                           SparseOptions options, bool is_dense);

// Ends when all ranks have entered it: everyone sends everyone a byte. Where
// messages double from step to step, ranks that run ahead would fill the cards
// of others with large messages, which early ones then wait behind, and make
// up for twice the delay in each step.
Task<> wait_for_all(Channel channel);

// Step two, once all have finished step one: every rank gives its partition of
// a vector of `type` and gets the vector. Throws as gather_messages() and
// copy_stream().
Task<Stream> gather_partitions(Channel channel, StreamType type,
                               Partitions partitions, Stream mine);

// Algorithm dense, of the values themselves: vectors are halved and exchanged
// until every rank has summed one part, and the sums are gathered
// (collective/scatter_gather.h).
Task<> sum_dense(Channel channel, DenseBuffer buffer);

// Adds streams up in the order in which they are given, as a balanced tree:
// each item takes part in log2 of their number of merges.
class SumTree {
 public:
  explicit SumTree(const SumRates& rates) : rates_(rates) {}

  // What it took, for simulated worlds.
  double add(Stream stream);
  double finish();
  // May be called after finish() only.
  Stream result() && { return std::move(pending_.front().stream); }

 private:
  struct Pending {
    Stream stream;
    int level;  // 2^level streams are in it
  };
  double join_last();

  SumRates rates_;
  std::vector<Pending> pending_;
};

}  // namespace weft
