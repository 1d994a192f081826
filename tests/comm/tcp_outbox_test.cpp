#include <gtest/gtest.h>
#include <list>

#include "tests/support/errors.h"
#include "tests/support/idle_transport.h"

#include "weft/comm/tcp/outbox.h"

namespace weft::tcp_outbox_test {
namespace {

using tcp::Frame;
using tcp::kMostPart;
using test::IdleTransfer;
using Kind = Transfer::Kind;

// What leaves an outbox, without payloads.
struct Sender {
  test::IdleTransport transport;
  tcp::Outbox outbox;
  tcp::RecordWriter records;

  struct Written {
    Frame frame;
    Transfer* over = nullptr;
  };
  Written next() {
    Bytes out;
    Transfer* const over = outbox.write_next(records, out);
    Frame frame = tcp::parse_frame(std::span(out).subspan(4));
    frame.payload = {};
    return {frame, over};
  }
};

TEST(TcpOutbox, SendsAShortMessageAtOnce) {
  Sender sender;
  IdleTransfer message(sender.transport, Kind::kSend, 5, 100);
  sender.outbox.start(message.get());
  const auto written = sender.next();
  EXPECT_EQ(written.frame.kind, Frame::Kind::kMessage);
  EXPECT_EQ(written.frame.tag, 5u);
  EXPECT_EQ(written.frame.bytes, 100u);
  EXPECT_EQ(written.over, &message.get());
  EXPECT_TRUE(sender.outbox.is_empty());
}

TEST(TcpOutbox, AnUrgentMessageOvertakesTheRestOfALongOne) {
  Sender sender;
  IdleTransfer slow(sender.transport, Kind::kSend, 1, 3 * kMostPart);
  IdleTransfer urgent(sender.transport, Kind::kSend, 2, 10, /*priority=*/1);
  sender.outbox.start(slow.get());
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kAnnounce);
  EXPECT_TRUE(sender.outbox.is_empty());
  sender.outbox.granted(0);
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kPart);
  sender.outbox.start(urgent.get());
  EXPECT_EQ(sender.next().over, &urgent.get());
  EXPECT_EQ(sender.next().over, nullptr);
  EXPECT_EQ(sender.next().over, &slow.get());
}

TEST(TcpOutbox, AnUrgentLongMessageOvertakesToo) {
  Sender sender;
  IdleTransfer slow(sender.transport, Kind::kSend, 1, 3 * kMostPart);
  IdleTransfer urgent(sender.transport, Kind::kSend, 2, 2 * kMostPart, 1);
  sender.outbox.start(slow.get());
  sender.outbox.start(urgent.get());
  for (const std::uint32_t id : {0u, 1u}) {
    EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kAnnounce);
    sender.outbox.granted(id);
  }
  std::vector<std::uint32_t> ids;
  while (!sender.outbox.is_empty()) ids.push_back(sender.next().frame.id);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{1, 1, 0, 0, 0}));
}

TEST(TcpOutbox, MessagesOfOneTagKeepTheirOrder) {
  Sender sender;
  IdleTransfer first(sender.transport, Kind::kSend, 7, 10);
  IdleTransfer other(sender.transport, Kind::kSend, 8, 10, 1);
  // Both kinds behind a message that has not left, and more urgent than it.
  IdleTransfer large(sender.transport, Kind::kSend, 7, 2 * kMostPart, 9);
  IdleTransfer last(sender.transport, Kind::kSend, 7, 20, 9);
  for (IdleTransfer* each : {&first, &other, &large, &last}) {
    sender.outbox.start(each->get());
  }
  EXPECT_EQ(sender.next().over, &other.get());
  EXPECT_EQ(sender.next().over, &first.get());
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kAnnounce);
  EXPECT_EQ(sender.next().over, &last.get());
}

TEST(TcpOutbox, NoticesGoFirst) {
  Sender sender;
  IdleTransfer message(sender.transport, Kind::kSend, 1, 10, 100);
  sender.outbox.start(message.get());
  sender.outbox.grant(3);
  sender.outbox.notice({Notice::Kind::kQuery, 0, "why"});
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kNotice);
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kGrant);
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kMessage);
}

TEST(TcpOutbox, WithoutCreditMessagesAreAnnounced) {
  Sender sender;
  const std::size_t size = kMostPart - tcp::kMessageCost;
  std::list<IdleTransfer> messages;
  for (std::size_t i = 0; i < tcp::kWindow / kMostPart; ++i) {
    messages.emplace_back(sender.transport, Kind::kSend, 1, size);
    sender.outbox.start(messages.back().get());
    EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kMessage);
  }
  // Even one of no bytes costs its receiver something.
  IdleTransfer empty(sender.transport, Kind::kSend, 1, 0);
  sender.outbox.start(empty.get());
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kAnnounce);
  sender.outbox.granted(0);
  Bytes none;
  EXPECT_EQ(sender.outbox.write_next(sender.records, none), &empty.get());
  EXPECT_TRUE(none.empty());
  sender.outbox.credited(kMostPart);
  IdleTransfer next(sender.transport, Kind::kSend, 1, size);
  sender.outbox.start(next.get());
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kMessage);
}

TEST(TcpOutbox, AMessageThatIsGivenUpIsWithdrawn) {
  Sender sender;
  IdleTransfer waiting(sender.transport, Kind::kSend, 1, 10);
  IdleTransfer announced(sender.transport, Kind::kSend, 2, 2 * kMostPart);
  IdleTransfer begun(sender.transport, Kind::kSend, 3, 2 * kMostPart);
  for (IdleTransfer* each : {&announced, &begun}) {
    sender.outbox.start(each->get());
    sender.next();
  }
  sender.outbox.granted(1);
  EXPECT_EQ(sender.next().frame.kind, Frame::Kind::kPart);
  sender.outbox.start(waiting.get());
  for (IdleTransfer* each : {&waiting, &announced, &begun}) {
    sender.outbox.forget(each->get());
  }
  for (const std::uint32_t id : {0u, 1u}) {
    const Frame frame = sender.next().frame;
    EXPECT_EQ(frame.kind, Frame::Kind::kWithdraw);
    EXPECT_EQ(frame.id, id);
  }
  EXPECT_TRUE(sender.outbox.is_empty());
  sender.outbox.granted(0);  // it crossed the withdrawal
  EXPECT_TRUE(sender.outbox.is_empty());
}

TEST(TcpOutbox, RefusesAnswersToWhatWasNotAsked) {
  Sender sender;
  test::expect_error(ErrorCode::kDataLoss, {"never announced"},
                     [&] { sender.outbox.granted(0); });
  test::expect_error(ErrorCode::kDataLoss, {"more than it had"},
                     [&] { sender.outbox.credited(1); });
}

}  // namespace
}  // namespace weft::tcp_outbox_test
