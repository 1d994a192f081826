// The simplest exchanges between ranks, to try transports and engines with.
#pragma once

#include <span>
#include <vector>

#include "weft/comm/transport/communicator.h"

namespace weft::test {

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// Everyone's vector added up, the plain way: each sends to each.
inline Task<> add_up(Channel channel, std::vector<int>& values) {
  std::vector<std::vector<int>> parts(static_cast<std::size_t>(channel.size()),
                                      std::vector<int>(values.size()));
  std::vector<int> mine = values;
  Transfers transfers(channel);
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (peer == channel.rank()) continue;
    transfers.send(peer, bytes_of(mine));
    transfers.receive(peer, bytes_of(parts[static_cast<std::size_t>(peer)]));
  }
  co_await transfers.all();
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += part[i];
  }
}

}  // namespace weft::test
