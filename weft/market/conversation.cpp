#include "weft/market/conversation.h"

#include <algorithm>
#include <sodium.h>

namespace weft::market {
namespace {

constexpr std::string_view kEnvelopeContext = "weft market message";
constexpr std::uint64_t kMostMessageBytes = std::uint64_t{256} << 20;

std::string placed(const Place& place, std::string_view text) {
  return fmt::format("{} {} {}\n{}", to_hex(place.conversation), place.step,
                     place.phase, text);
}

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

std::string drawn_hello(const PublicKey& key) {
  std::array<std::uint8_t, 32> random;
  randombytes_buf(random.data(), random.size());
  return to_hex(key) + to_hex(random);
}

}  // namespace

std::string seal_envelope(const SigningKey& from, const Place& place,
                          std::string_view text) {
  return to_hex(from.sign(kEnvelopeContext, placed(place, text))) +
         std::string(text);
}

std::string open_envelope(const PublicKey& from, const Place& place,
                          std::string_view envelope) {
  Signature signature;
  constexpr std::size_t kDigits = 2 * sizeof(Signature);
  if (envelope.size() < kDigits ||
      !from_hex(envelope.substr(0, kDigits), signature) ||
      !is_signed_by(from, signature, kEnvelopeContext,
                    placed(place, envelope.substr(kDigits)))) {
    throw Error(ErrorCode::kInvalidArgument, "message",
                "it is not what {} says in step {}, the {}: it was changed, "
                "kept from before, or said by another",
                short_name(from), place.step, place.phase);
  }
  return std::string(envelope.substr(kDigits));
}

Conversation::Conversation(Engine& engine, Communicator& communicator,
                           const SigningKey& key,
                           const std::vector<PublicKey>& validators)
    : engine_(engine), communicator_(communicator), key_(key) {
  const std::vector<std::string> hellos =
      exchange_plain("hello", drawn_hello(key.public_key()));
  std::string all;
  for (std::size_t rank = 0; rank < hellos.size(); ++rank) {
    all += hellos[rank];
    const PublicKey theirs = key_from_text(
        std::string_view(hellos[rank]).substr(0, 64), "hello of a rank");
    if (std::ranges::find(validators, theirs) == validators.end()) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("rank {}", rank),
                  "{} is no validator of this market", short_name(theirs));
    }
    if (std::ranges::find(ranks_, theirs) != ranks_.end()) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("rank {}", rank),
                  "{} is another rank already", short_name(theirs))
          .hint("each rank signs with a key of its own");
    }
    ranks_.push_back(theirs);
  }
  name_ = digest_of_bytes(all);
}

std::vector<std::string> Conversation::exchange_plain(const std::string& phase,
                                                      const std::string& text) {
  std::vector<std::string> said(static_cast<std::size_t>(size()));
  const OperationInfo info{.operation = "market", .tensor = phase};
  engine_.run(exchange_bytes(communicator_.open(info), text, &said));
  return said;
}

std::vector<std::string> Conversation::exchange(const std::string& phase,
                                                const std::string& text) {
  const Place place{name_, ++step_, phase};
  std::vector<std::string> said =
      exchange_plain(phase, seal_envelope(key_, place, text));
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    try {
      said[rank] = open_envelope(ranks_[rank], place, said[rank]);
    } catch (const Error& error) {
      throw Error(ErrorCode::kDataLoss, fmt::format("rank {}", rank),
                  "its message is refused: {}", error.message());
    }
  }
  return said;
}

}  // namespace weft::market
