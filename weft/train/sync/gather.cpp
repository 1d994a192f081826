#include "weft/train/sync/gather.h"

namespace weft {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.raw()), tensor.bytes()};
}

}  // namespace

Task<> sum_over_workers(Channel channel, std::vector<double>& values) {
  const auto ranks = static_cast<std::size_t>(channel.size());
  std::vector<std::vector<double>> parts(ranks,
                                         std::vector<double>(values.size()));
  // The own values go through the same list, so that they are added at their
  // place.
  parts[static_cast<std::size_t>(channel.rank())] = values;
  Transfers transfers(channel);
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (peer == channel.rank()) continue;
    transfers.send(peer, std::as_bytes(std::span(values)));
    transfers.receive(peer, std::as_writable_bytes(std::span(
                                parts[static_cast<std::size_t>(peer)])));
  }
  co_await transfers.all();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0;
    // They are added in the order of ranks, which gives the same bits
    // everywhere: decisions are made of these sums.
    for (const auto& part : parts) values[i] += part[i];
  }
}

Task<> gather_texts(Channel channel, std::string own,
                    std::vector<std::string>& all) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
  const auto ranks = static_cast<std::size_t>(channel.size());
  std::vector<std::uint64_t> sizes(ranks);
  // What the lambda refers to lives in this coroutine, which awaits it at once.
  const auto exchange = [&](std::span<const std::byte> mine,
                            const auto& room_of) -> Task<> {
    Transfers transfers(channel);
    for (int peer = 0; peer < channel.size(); ++peer) {
      if (peer == channel.rank()) continue;
      transfers.send(peer, mine);
      transfers.receive(peer, room_of(static_cast<std::size_t>(peer)));
    }
    co_await transfers.all();
  };
  const std::uint64_t size = own.size();
  // Sizes go first, so that each text comes into room of its size.
  co_await exchange(std::as_bytes(std::span(&size, 1)), [&](std::size_t i) {
    return std::as_writable_bytes(std::span(&sizes[i], 1));
  });
  all.assign(ranks, "");
  for (std::size_t i = 0; i < ranks; ++i) {
    // The number comes from another rank, and memory is taken by it.
    if (sizes[i] > kMost) {
      throw Error(ErrorCode::kDataLoss, fmt::format("rank {}", i),
                  "announces a text of {} bytes", sizes[i]);
    }
    all[i].resize(sizes[i]);
  }
  co_await exchange(std::as_bytes(std::span(own)), [&](std::size_t i) {
    return std::as_writable_bytes(std::span(all[i]));
  });
  all[static_cast<std::size_t>(channel.rank())] = std::move(own);
}

Task<> broadcast_tensors(Channel channel, int root,
                         std::vector<NamedTensor> tensors) {
  Transfers transfers(channel);
  // Between two ranks messages arrive in the order in which they are sent, and
  // all go through the same list: names need not travel.
  for (const NamedTensor& named : tensors) {
    if (channel.rank() != root) {
      transfers.receive(root, bytes_of(named.tensor));
      continue;
    }
    for (int peer = 0; peer < channel.size(); ++peer) {
      if (peer != root) transfers.send(peer, bytes_of(named.tensor));
    }
  }
  co_await transfers.all();
}

Task<> gather_tensors(Channel channel, int root,
                      std::vector<OwnedTensor>& tensors) {
  Transfers transfers(channel);
  for (OwnedTensor& owned : tensors) {
    // What the root owns is in its list already.
    if (owned.owner == root) continue;
    if (channel.rank() == root) {
      owned.tensor = Tensor::empty(owned.type);
      transfers.receive(owned.owner, bytes_of(owned.tensor));
    } else if (channel.rank() == owned.owner) {
      transfers.send(root, bytes_of(owned.tensor));
    }
  }
  co_await transfers.all();
}

}  // namespace weft
