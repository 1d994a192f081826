#include "weft/market/conversation.h"

#include <algorithm>
#include <sodium.h>

#include "weft/base/error.h"

namespace weft::market {
namespace {

constexpr std::string_view kEnvelopeContext = "weft market message";

std::string placed(const Place& place, std::string_view text) {
  return fmt::format("{} {} {}\n{}", to_hex(place.conversation), place.step,
                     place.phase, text);
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

Conversation::Conversation(TextExchange& ranks, const SigningKey& key,
                           const std::vector<PublicKey>& validators)
    : exchange_(ranks), key_(key) {
  const std::vector<std::string> hellos =
      exchange_.exchange("hello", drawn_hello(key.public_key()));
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

std::vector<std::string> Conversation::exchange(const std::string& phase,
                                                const std::string& text) {
  const Place place{name_, ++step_, phase};
  std::vector<std::string> said =
      exchange_.exchange(phase, seal_envelope(key_, place, text));
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
