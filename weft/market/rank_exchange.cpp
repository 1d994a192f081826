#include "weft/market/rank_exchange.h"

namespace weft::market {
namespace {

// Sends `mine` to all, and hears as much from each: first how long it is.
Task<> exchange_bytes(Channel channel, std::string mine,
                      std::vector<std::string>* said) {
  const auto size = static_cast<std::size_t>(channel.size());
  std::vector<std::uint64_t> lengths(size);
  const std::uint64_t own = mine.size();
  {
    Transfers transfers(channel);
    for (int peer = 0; peer < channel.size(); ++peer) {
      if (peer == channel.rank()) continue;
      transfers.send(peer, std::as_bytes(std::span(&own, 1)));
      transfers.receive(
          peer, std::as_writable_bytes(
                    std::span(&lengths[static_cast<std::size_t>(peer)], 1)));
    }
    co_await transfers.all();
  }
  Transfers transfers(channel);
  for (int peer = 0; peer < channel.size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer == channel.rank()) {
      (*said)[at] = mine;
      continue;
    }
    if (lengths[at] > kMostMessageBytes) {
      throw Error(ErrorCode::kDataLoss, fmt::format("rank {}", peer),
                  "wants to say {} bytes, and {} are the most", lengths[at],
                  kMostMessageBytes);
    }
    (*said)[at].resize(lengths[at]);
    transfers.send(peer, std::as_bytes(std::span(mine)));
    transfers.receive(peer, std::as_writable_bytes(std::span((*said)[at])));
  }
  co_await transfers.all();
}

}  // namespace

std::vector<std::string> RankExchange::exchange(const std::string& phase,
                                                const std::string& text) {
  std::vector<std::string> said(static_cast<std::size_t>(size()));
  const OperationInfo info{.operation = "market", .tensor = phase};
  engine_.run(exchange_bytes(communicator_.open(info), text, &said));
  return said;
}

}  // namespace weft::market
