#include "weft/comm/sparse/exchange.h"

#include <algorithm>
#include <cstring>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/collective/scatter_gather.h"

namespace weft {
namespace {

// Appends where the messages end that came after the last.
void find_ends(ByteReader in, std::size_t most, int count,
               std::vector<std::size_t>& ends) {
  for (int i = 0; i < count; ++i) {
    const auto length = in.read<std::uint64_t>("length");
    if (length > most) {
      throw in.damaged("length",
                       fmt::format("is {} of at most {} bytes", length, most));
    }
    in.take(length, "message");
    ends.push_back(ends.back() + sizeof(length) + length);
  }
  in.expect_end();
}

}  // namespace

std::string name_of(const Channel& channel, int peer) {
  return fmt::format("rank {}",
                     // Messages name ranks of the world, as a user knows no
                     // others.
                     channel.members()[peer]);
}

Task<Stream> receive_stream(Channel channel, int peer, StreamType type,
                            std::uint64_t most_items) {
  RawBytes room(type.most_bytes(most_items));
  Transfer received = channel.receive(peer, room.bytes());
  const std::size_t bytes = co_await received;
  co_return Stream::from_message(std::move(room), bytes, type,
                                 name_of(channel, peer));
}

Task<GatheredMessages> gather_messages(Channel channel,
                                       std::span<const std::byte> mine,
                                       std::size_t most) {
  const int ranks = channel.size();
  const int rank = channel.rank();
  constexpr std::size_t kLength = sizeof(std::uint64_t);
  WEFT_CHECK(mine.size() <= most);
  GatheredMessages result;
  // Memory that nobody writes costs nothing, so there is room for the longest
  // message of every rank.
  result.memory = RawBytes(static_cast<std::size_t>(ranks) * (kLength + most));
  const std::span<std::byte> memory = result.memory.bytes();
  const std::uint64_t length = mine.size();
  std::memcpy(memory.data(), &length, kLength);
  std::copy(mine.begin(), mine.end(), memory.begin() + kLength);

  // Message i, of rank + i, ends before ends[i + 1].
  std::vector<std::size_t> ends = {0, kLength + mine.size()};
  // What a rank has doubles in each step, and ranks need be no power of two:
  // the last step just asks for fewer.
  for (int step = 1; step < ranks; step *= 2) {
    const int count = std::min(step, ranks - step);
    const int from = (rank + step) % ranks;
    // Messages are received right behind those that are there, so that what is
    // sent on is one piece.
    const auto room = memory.subspan(ends.back());
    Transfer received = channel.receive(from, room);
    Transfer sent =
        channel.send((rank - step + ranks) % ranks,
                     memory.first(ends[static_cast<std::size_t>(count)]));
    const std::size_t bytes = co_await received;
    co_await sent;
    const std::string where = name_of(channel, from);
    // Lengths come from other ranks: they are checked before anything is read
    // or sent on by them.
    find_ends(ByteReader(room.first(bytes), where), most, count, ends);
  }
  for (int i = 0; i < ranks; ++i) {
    const auto at = static_cast<std::size_t>((i - rank + ranks) % ranks);
    result.of.push_back(
        memory.subspan(ends[at] + kLength, ends[at + 1] - ends[at] - kLength));
  }
  co_return result;
}

Stream copy_stream(std::span<const std::byte> message, const StreamType& type,
                   std::string_view where) {
  RawBytes bytes(message.size());
  std::copy(message.begin(), message.end(), bytes.data());
  return Stream::from_message(std::move(bytes), message.size(), type, where);
}

Partitions partitions_of(const SparseOptions& options, const StreamType& type,
                         int ranks) {
  if (options.partitions.count() == 0) {
    return Partitions::even(type.size, ranks);
  }
  WEFT_CHECK(options.partitions.count() == ranks &&
             options.partitions.whole() == type.size);
  return options.partitions;
}

Task<Stream> sum_partition(Channel channel, Stream stream,
                           SparseOptions options, bool is_dense) {
  const int ranks = channel.size();
  const int rank = channel.rank();
  std::vector<Stream> parts =
      split(stream, partitions_of(options, stream.type(), ranks));
  // The parts are copies; the whole need not be kept while they are summed.
  stream = Stream();
  const StreamType type = parts[static_cast<std::size_t>(rank)].type();

  // The rooms outlive what is received into them: where this task is ended by
  // another rank's death, a third rank may be writing there.
  std::vector<RawBytes> rooms;
  // Distances, not ranks: no two send to the same rank at the same time.
  Transfers received(channel);
  Transfers sent(channel);
  for (int distance = 1; distance < ranks; ++distance) {
    rooms.emplace_back(type.most_bytes(options.most_items));
    // Receives are open before anything is sent, so that a message finds its
    // place when it comes.
    received.receive((rank - distance + ranks) % ranks, rooms.back().bytes());
  }
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (rank + distance) % ranks;
    sent.send(to, parts[static_cast<std::size_t>(to)].message());
  }

  SumTree tree(options.rates);
  Stream total;
  if (is_dense) {
    total = Stream::dense_zeros(type);
    co_await channel.pause(static_cast<double>(type.size) *
                           options.rates.clear);
  }
  // Parts are added in the order of distances: that is about the order in which
  // they come, and it is the same in every run, so the bits are too.
  for (int distance = 0; distance < ranks; ++distance) {
    Stream part;
    // The own part is taken first, while the others are on their way.
    if (distance == 0) {
      part = std::move(parts[static_cast<std::size_t>(rank)]);
    } else {
      const auto at = static_cast<std::size_t>(distance - 1);
      Transfer& arrival = received[at];
      const std::size_t bytes = co_await arrival;
      part = Stream::from_message(
          std::move(rooms[at]), bytes, type,
          name_of(channel, (rank - distance + ranks) % ranks));
    }
    double seconds = 0;
    if (is_dense) {
      seconds = sum_seconds(total, part, options.rates);
      total = sum(std::move(total), std::move(part));
    } else {
      seconds = tree.add(std::move(part));
    }
    co_await channel.pause(seconds);
  }
  if (!is_dense) {
    co_await channel.pause(tree.finish());
    total = std::move(tree).result();
  }
  co_await sent.all();
  co_return total;
}

Task<> wait_for_all(Channel channel) {
  // A message from each rank says that it has come so far; what is in it does
  // not matter.
  std::vector<std::byte> bytes(static_cast<std::size_t>(channel.size()));
  const std::byte mine{};
  Transfers transfers(channel);
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int from = (channel.rank() + distance) % channel.size();
    transfers.receive(
        from, std::span(bytes).subspan(static_cast<std::size_t>(from), 1));
  }
  for (int distance = 1; distance < channel.size(); ++distance) {
    transfers.send((channel.rank() + distance) % channel.size(), {&mine, 1});
  }
  co_await transfers.all();
}

Task<Stream> gather_partitions(Channel channel, StreamType type,
                               Partitions partitions, Stream mine) {
  co_await wait_for_all(channel);
  const StreamType largest{type.dtype, partitions.largest()};
  const GatheredMessages messages = co_await gather_messages(
      channel, mine.message(), largest.most_bytes(largest.size));
  std::vector<Stream> parts;
  for (int i = 0; i < partitions.count(); ++i) {
    // A stream owns the memory that it lies in, so each message is copied out
    // of the row.
    parts.push_back(copy_stream(messages.of[static_cast<std::size_t>(i)],
                                {type.dtype, partitions.size(i)},
                                name_of(channel, i)));
  }
  co_return concatenate(type, parts);
}

Task<> sum_dense(Channel channel, DenseBuffer buffer) {
  const Parts parts = Parts::near_equal(buffer.all(), channel.size());
  // Halving sends the least bytes, in the logarithm of the ranks' number of
  // steps.
  co_await reduce_scatter(ScatterMethod::kHalving, channel, buffer, parts);
  co_await all_gather(ScatterMethod::kHalving, channel, buffer, parts);
}

// Streams of like weight are joined, as a counter carries: each item is merged
// log2 P times, where adding to one growing sum would merge it P times.
double SumTree::add(Stream stream) {
  pending_.push_back({std::move(stream), 0});
  double seconds = 0;
  while (pending_.size() > 1 &&
         pending_.back().level == pending_[pending_.size() - 2].level) {
    seconds += join_last();
  }
  return seconds;
}

double SumTree::finish() {
  double seconds = 0;
  while (pending_.size() > 1) seconds += join_last();
  return seconds;
}

double SumTree::join_last() {
  Pending last = std::move(pending_.back());
  pending_.pop_back();
  Pending& first = pending_.back();
  const double seconds = sum_seconds(first.stream, last.stream, rates_);
  first.stream = sum(std::move(first.stream), std::move(last.stream));
  ++first.level;
  return seconds;
}

}  // namespace weft
