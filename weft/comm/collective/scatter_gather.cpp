#include "weft/comm/collective/scatter_gather.h"

#include <algorithm>
#include <array>
#include <bit>

namespace weft {
namespace {

constexpr std::array kMethods = {ScatterMethod::kRing, ScatterMethod::kHalving,
                                 ScatterMethod::kDirect};

// Parts first, first + 1, …, counted around the end: one interval or two.
std::vector<Interval> circle(const Parts& parts, int first, int count) {
  const int size = parts.count();
  const int begin = (first + size) % size;
  const int before_end = std::min(count, size - begin);
  std::vector<Interval> result = {
      {parts[begin].begin, parts[begin + before_end - 1].end}};
  if (before_end < count) {
    result.push_back({parts[0].begin, parts[count - before_end - 1].end});
  }
  return result;
}

// The distances of halving, 1, 2, 4, … below the number of ranks.
int largest_distance(int ranks) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)) / 2);
}

// Part k starts at rank k + 1 and travels around the ring to rank k, growing
// by each rank's share.
Task<> reduce_scatter_ring(Channel channel, DenseBuffer buffer, Parts parts) {
  const int rank = channel.rank();
  AddStream stream;
  stream.from = channel.around(rank - 1);
  stream.forward_to = channel.around(rank + 1);
  // The rank's own part is the last that comes to it, from all others, so it is
  // whole here when the ring is through.
  for (int step = 2; step <= channel.size(); ++step) {
    stream.parts.push_back(parts.cyclic(rank - step));
  }
  stream.lead = parts.cyclic(rank - 1);
  co_await receive_and_add(channel, buffer, std::move(stream));
}

Task<> all_gather_ring(Channel channel, DenseBuffer buffer, Parts parts) {
  const int rank = channel.rank();
  const int next = channel.around(rank + 1);
  std::vector<Interval> segments;
  std::size_t forwarded = 0;
  for (int step = 1; step < channel.size(); ++step) {
    // What comes last is the next rank's own part.
    forwarded = segments.size();
    for (const Interval segment :
         segments_of(buffer.dtype, parts.cyclic(rank - step))) {
      segments.push_back(segment);
    }
  }
  Transfers received(channel);
  for (const Interval segment : segments) {
    // Each part has a place of its own, so all may come as soon as they can.
    received.receive(channel.around(rank - 1), buffer.bytes(segment));
  }
  Transfers sent(channel);
  send_part(sent, next, buffer, parts[rank]);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Transfer& arrival = received[i];
    co_await arrival;
    if (i < forwarded) sent.send(next, buffer.bytes(segments[i]));
  }
  co_await sent.all();
}

// After the step of distance d, a rank holds d parts, counted from its own.
Task<> reduce_scatter_halving(Channel channel, DenseBuffer buffer,
                              Parts parts) {
  const int rank = channel.rank();
  const int size = channel.size();
  int held = size;
  for (int d = largest_distance(size); d > 0; d /= 2) {
    // Parts from d on go to the rank that far ahead. The first d stay, and as
    // many of them as come from behind are added to.
    const int count = held - d;
    held = d;
    AddStream stream;
    stream.from = channel.around(rank - d);
    stream.parts = circle(parts, rank, count);
    Task<> adding = receive_and_add(channel, buffer, std::move(stream));
    // The receive is open before anything is sent, and both ways are under way
    // at once.
    adding.start();
    Transfers sent(channel);
    for (const Interval part : circle(parts, rank + d, count)) {
      send_part(sent, channel.around(rank + d), buffer, part);
    }
    co_await adding;
    co_await sent.all();
  }
}

Task<> all_gather_doubling(Channel channel, DenseBuffer buffer, Parts parts) {
  const int rank = channel.rank();
  const int size = channel.size();
  for (int d = 1; d < size; d *= 2) {
    // Where the ranks are no power of two, the last step has fewer left.
    const int count = std::min(d, size - d);
    Transfers transfers(channel);
    for (const Interval part : circle(parts, rank + d, count)) {
      receive_part(transfers, channel.around(rank + d), buffer, part);
    }
    for (const Interval part : circle(parts, rank, count)) {
      send_part(transfers, channel.around(rank - d), buffer, part);
    }
    co_await transfers.all();
  }
}

// Adds in the order of distance, whoever is first.
Task<> reduce_scatter_direct(Channel channel, DenseBuffer buffer, Parts parts) {
  const int rank = channel.rank();
  Transfers sent(channel);
  // Nothing that is sent depends on what comes, so all of it starts at once;
  // distances are counted, so that no two ranks begin with the same receiver.
  for (int d = 1; d < channel.size(); ++d) {
    send_part(sent, channel.around(rank + d), buffer, parts.cyclic(rank + d));
  }
  for (int d = 1; d < channel.size(); ++d) {
    AddStream stream;
    // One after the other, in an order that is fixed: sums of floats depend on
    // it.
    stream.from = channel.around(rank - d);
    stream.parts = {parts[rank]};
    co_await receive_and_add(channel, buffer, std::move(stream));
  }
  co_await sent.all();
}

Task<> all_gather_direct(Channel channel, DenseBuffer buffer, Parts parts) {
  const int rank = channel.rank();
  Transfers transfers(channel);
  for (int d = 1; d < channel.size(); ++d) {
    receive_part(transfers, channel.around(rank - d), buffer,
                 parts.cyclic(rank - d));
  }
  for (int d = 1; d < channel.size(); ++d) {
    send_part(transfers, channel.around(rank + d), buffer, parts[rank]);
  }
  co_await transfers.all();
}

}  // namespace

std::string_view to_string(ScatterMethod method) {
  switch (method) {
    case ScatterMethod::kRing:
      return "ring";
    case ScatterMethod::kHalving:
      return "halving";
    case ScatterMethod::kDirect:
      break;
  }
  return "direct";
}

ScatterMethod scatter_method(std::string_view name) {
  for (const ScatterMethod method : kMethods) {
    if (to_string(method) == name) return method;
  }
  throw Error(ErrorCode::kInvalidArgument, "reduce_scatter", "no method '{}'",
              name)
      .hint("use ring, halving or direct");
}

Task<> reduce_scatter(ScatterMethod method, Channel channel, DenseBuffer buffer,
                      Parts parts) {
  WEFT_CHECK(parts.count() == channel.size());
  // The algorithms below have a neighbour to talk to.
  if (channel.size() == 1) return all_of({});
  switch (method) {
    case ScatterMethod::kRing:
      return reduce_scatter_ring(std::move(channel), buffer, std::move(parts));
    case ScatterMethod::kHalving:
      return reduce_scatter_halving(std::move(channel), buffer,
                                    std::move(parts));
    case ScatterMethod::kDirect:
      break;
  }
  return reduce_scatter_direct(std::move(channel), buffer, std::move(parts));
}

Task<> all_gather(ScatterMethod method, Channel channel, DenseBuffer buffer,
                  Parts parts) {
  WEFT_CHECK(parts.count() == channel.size());
  if (channel.size() == 1) return all_of({});
  switch (method) {
    case ScatterMethod::kRing:
      return all_gather_ring(std::move(channel), buffer, std::move(parts));
    case ScatterMethod::kHalving:
      return all_gather_doubling(std::move(channel), buffer, std::move(parts));
    case ScatterMethod::kDirect:
      break;
  }
  return all_gather_direct(std::move(channel), buffer, std::move(parts));
}

}  // namespace weft
