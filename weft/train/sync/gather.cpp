#include "weft/train/sync/gather.h"

#include "weft/comm/collective/rooted.h"

namespace weft {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.raw()), tensor.bytes()};
}

// Up to so many workers send to each other: one latency, where a tree takes one
// for each of its levels, up and down.
constexpr int kMostDirect = 8;

Task<> sum_directly(Channel channel, std::vector<double>& values) {
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

}  // namespace

Task<> sum_over_workers(Channel channel, std::vector<double>& values) {
  if (channel.size() <= kMostDirect) {
    co_await sum_directly(std::move(channel), values);
    co_return;
  }
  const DenseBuffer sums{DType::kF64,
                         std::as_writable_bytes(std::span(values)).data(),
                         values.size()};
  // One rank adds, in an order that the tree gives, and tells all: the same
  // bits everywhere.
  co_await reduce(RootedMethod::kTree, channel, sums, /*root=*/0);
  co_await broadcast(RootedMethod::kTree, channel, sums, /*root=*/0);
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
  // All go through the same list, so names need not travel.
  for (const NamedTensor& named : tensors) {
    const std::span<std::byte> bytes = bytes_of(named.tensor);
    co_await broadcast(RootedMethod::kTree, channel,
                       {DType::kU8, bytes.data(), bytes.size()}, root);
  }
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
