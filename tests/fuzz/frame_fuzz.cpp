// Bytes of a connection, as they come from a rank that is broken or hostile:
// records, the frames in them, and what these say of messages under way.
#include "tests/fuzz/fuzz.h"
#include "tests/support/idle_transport.h"

#include "weft/comm/tcp/inbox.h"

namespace weft::fuzz {

inline void take_frame(const tcp::Frame& frame, tcp::Inbox& inbox,
                       tcp::Outbox& outbox) {
  switch (frame.kind) {
    case tcp::Frame::Kind::kGrant:
      return outbox.granted(frame.id);
    case tcp::Frame::Kind::kCredit:
      return outbox.credited(frame.bytes);
    case tcp::Frame::Kind::kNotice:
      WEFT_CHECK(frame.payload.size() <= kMostNoticeBytes);
      return;
    default:
      if (const auto outcome = inbox.take(frame);
          outcome && !outcome->failure) {
        WEFT_CHECK(outcome->bytes <= outcome->transfer->bytes());
      }
  }
}

inline void take_records(std::string_view input) {
  constexpr std::size_t kPiece = 1000;
  test::IdleTransport transport;
  tcp::Outbox outbox;
  tcp::Inbox inbox(outbox);
  // A few receives wait, and a message is announced.
  test::IdleTransfer short_one(transport, Transfer::Kind::kReceive, 1, 100);
  test::IdleTransfer long_one(transport, Transfer::Kind::kReceive, 2, 5000);
  test::IdleTransfer sent(transport, Transfer::Kind::kSend, 3, 100'000);
  inbox.receive(short_one.get());
  inbox.receive(long_one.get());
  outbox.start(sent.get());
  tcp::RecordReader reader;
  while (!input.empty()) {
    const auto room = reader.room();
    const std::size_t size = std::min({room.size(), input.size(), kPiece});
    std::memcpy(room.data(), input.data(), size);
    input.remove_prefix(size);
    reader.came(size);
    while (const auto frame = reader.next()) take_frame(*frame, inbox, outbox);
  }
}

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::fuzz;
  return refuse_or_accept([&] { take_records(text_of(data, size)); });
}
