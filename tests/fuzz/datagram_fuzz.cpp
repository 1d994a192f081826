// Datagrams that anybody could have sent to a run without a key, one after the
// other, each behind its length.
#include "tests/fuzz/fuzz.h"
#include "tests/support/idle_transport.h"

#include "weft/comm/tcp/lossy_inbox.h"

namespace weft::fuzz {

inline void take_datagrams(std::string_view input) {
  test::IdleTransport transport;
  tcp::LossyInbox inbox(1);
  std::vector<tcp::Outcome> over;
  test::IdleTransfer receive(transport, Transfer::Kind::kReceive, 1, 5000, 0,
                             true);
  inbox.receive(receive.get(), 0, over);
  tcp::DatagramOpener opener(std::nullopt);
  while (input.size() >= 2) {
    const std::size_t size =
        std::min<std::size_t>(static_cast<unsigned char>(input[0]) +
                                  256 * static_cast<unsigned char>(input[1]),
                              input.size() - 2);
    const auto bytes = std::as_bytes(std::span(input.substr(2, size)));
    input.remove_prefix(2 + size);
    if (!tcp::sender_of(bytes)) continue;
    if (const auto datagram = opener.open(bytes)) {
      inbox.take(*datagram, 0, over);
    }
  }
  WEFT_CHECK(over.size() <= 1);
  inbox.expire(2, over);
  inbox.end();
}

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::fuzz;
  return refuse_or_accept([&] { take_datagrams(text_of(data, size)); });
}
