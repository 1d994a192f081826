#include "weft/comm/collective/rooted.h"

#include <cstring>

namespace weft {
namespace {

// Ranks are numbered from the root here. The parent of a number is the number
// without its lowest bit, so its children are those that add a lower one. The
// root has no bit, and may add any below `size`.
int lowest_bit(int number, int size) {
  int bit = 1;
  while (bit < size && (number & bit) == 0) bit *= 2;
  return bit;
}

Task<> broadcast_tree(Channel channel, DenseBuffer buffer, int root) {
  const int number = channel.around(channel.rank() - root);
  const int bit = lowest_bit(number, channel.size());
  if (number != 0) {
    Transfers received(channel);
    receive_part(received, channel.around(channel.rank() - bit), buffer,
                 buffer.all());
    co_await received.all();
  }
  Transfers sent(channel);
  // The largest subtree comes first, as it has the longest way to go.
  for (int d = bit / 2; d > 0; d /= 2) {
    if (number + d >= channel.size()) continue;
    send_part(sent, channel.around(channel.rank() + d), buffer, buffer.all());
  }
  co_await sent.all();
}

Task<> reduce_tree(Channel channel, DenseBuffer buffer, int root) {
  // The tree is that of broadcast_tree(), walked from the leaves.
  const int number = channel.around(channel.rank() - root);
  const int bit = lowest_bit(number, channel.size());
  // The smallest subtree comes first, as it is done first.
  for (int d = 1; d < bit && number + d < channel.size(); d *= 2) {
    AddStream stream;
    stream.from = channel.around(channel.rank() + d);
    stream.parts = {buffer.all()};
    co_await receive_and_add(channel, buffer, std::move(stream));
  }
  if (number == 0) co_return;
  Transfers sent(channel);
  send_part(sent, channel.around(channel.rank() - bit), buffer, buffer.all());
  co_await sent.all();
}

Task<> broadcast_cut(Channel channel, DenseBuffer buffer, int root) {
  const Parts parts = Parts::near_equal(buffer.all(), channel.size());
  // The root sends each element once, where a tree's root sends the vector log2
  // P times; the ranks pass on the rest.
  co_await scatter(channel, buffer, parts, root);
  co_await all_gather(ScatterMethod::kRing, channel, buffer, parts);
}

Task<> reduce_cut(Channel channel, DenseBuffer buffer, int root) {
  const Parts parts = Parts::near_equal(buffer.all(), channel.size());
  co_await reduce_scatter(ScatterMethod::kRing, channel, buffer, parts);
  co_await gather(channel, buffer, parts, root);
}

}  // namespace

Task<> broadcast(RootedMethod method, Channel channel, DenseBuffer buffer,
                 int root) {
  return method == RootedMethod::kTree
             ? broadcast_tree(std::move(channel), buffer, root)
             : broadcast_cut(std::move(channel), buffer, root);
}

Task<> reduce(RootedMethod method, Channel channel, DenseBuffer buffer,
              int root) {
  return method == RootedMethod::kTree
             ? reduce_tree(std::move(channel), buffer, root)
             : reduce_cut(std::move(channel), buffer, root);
}

Task<> gather(Channel channel, DenseBuffer buffer, Parts parts, int root) {
  Transfers transfers(channel);
  if (channel.rank() != root) {
    send_part(transfers, root, buffer, parts[channel.rank()]);
  } else {
    // All receives are open at once: each part has a place of its own.
    for (int d = 1; d < channel.size(); ++d) {
      const int peer = channel.around(root + d);
      receive_part(transfers, peer, buffer, parts[peer]);
    }
  }
  co_await transfers.all();
}

Task<> scatter(Channel channel, DenseBuffer buffer, Parts parts, int root) {
  Transfers transfers(channel);
  if (channel.rank() != root) {
    receive_part(transfers, root, buffer, parts[channel.rank()]);
  } else {
    for (int d = 1; d < channel.size(); ++d) {
      const int peer = channel.around(root + d);
      send_part(transfers, peer, buffer, parts[peer]);
    }
  }
  co_await transfers.all();
}

Task<> all_to_all(Channel channel, DenseBuffer from, Parts from_parts,
                  DenseBuffer to, Parts to_parts) {
  const int rank = channel.rank();
  WEFT_CHECK(from.dtype == to.dtype);
  WEFT_CHECK(from_parts[rank].size() == to_parts[rank].size());
  Transfers transfers(channel);
  for (int d = 1; d < channel.size(); ++d) {
    const int peer = channel.around(rank - d);
    receive_part(transfers, peer, to, to_parts[peer]);
  }
  for (int d = 1; d < channel.size(); ++d) {
    const int peer = channel.around(rank + d);
    send_part(transfers, peer, from, from_parts[peer]);
  }
  // The own part is copied while the others are on their way.
  const auto own = from.bytes(from_parts[rank]);
  if (own.data() != nullptr && !own.empty()) {
    std::memcpy(to.bytes(to_parts[rank]).data(), own.data(), own.size());
  }
  co_await transfers.all();
}

Task<> barrier(Channel channel) {
  // After this step a rank has heard, if indirectly, of the 2 d - 1 ranks
  // before it.
  for (int d = 1; d < channel.size(); d *= 2) {
    Transfers transfers(channel);
    // A message without bytes tells by coming.
    transfers.receive(channel.around(channel.rank() - d), {});
    transfers.send(channel.around(channel.rank() + d), {});
    co_await transfers.all();
  }
}

}  // namespace weft
