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
    for (const auto& part : parts) values[i] += part[i];
  }
}

Task<> broadcast_tensors(Channel channel, int root,
                         std::vector<NamedTensor> tensors) {
  Transfers transfers(channel);
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
