// The first byte says which side this rank is and whether it has a key; the
// others are what the other side says in the handshake.
#include "tests/fuzz/fuzz.h"

#include "weft/comm/tcp/handshake.h"

namespace weft::fuzz {

inline void shake_hands(std::string_view input) {
  using tcp::Handshake;
  if (input.empty()) return;
  const auto choice = static_cast<unsigned>(input.front());
  input.remove_prefix(1);
  static const tcp::RunKey key("the key that the other side lacks", "fuzz");
  const tcp::Identity self{.rank = 0,
                           .ranks = 2,
                           .session = {1},
                           .key = (choice & 1) != 0 ? &key : nullptr};
  Handshake handshake((choice & 2) != 0 ? Handshake::Side::kDialler
                                        : Handshake::Side::kAcceptor,
                      self, "the other side", [](const tcp::PeerHello&) {
                        return tcp::Verdict::kWelcome;
                      });
  const auto bytes = std::as_bytes(std::span(input));
  const std::size_t half = bytes.size() / 2;
  std::size_t taken = handshake.take(bytes.first(half));
  if (taken == half) taken += handshake.take(bytes.subspan(half));
  // Nobody who lacks the key is believed.
  WEFT_CHECK(!handshake.is_done() || self.key == nullptr);
  WEFT_CHECK(handshake.take_output().size() <= 1024 && taken <= bytes.size());
}

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::fuzz;
  return refuse_or_accept([&] { shake_hands(text_of(data, size)); });
}
