#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/idle_transport.h"

#include "weft/comm/tcp/inbox.h"

namespace weft::tcp_inbox_test {
namespace {

using tcp::Frame;
using tcp::kMostPart;
using tcp::Outcome;
using test::IdleTransfer;
using Kind = Transfer::Kind;

struct Receiver {
  test::IdleTransport transport;
  tcp::Outbox answers;
  tcp::Inbox inbox{answers};
  tcp::RecordWriter records;

  Frame next_answer() {
    Bytes out;
    answers.write_next(records, out);
    return tcp::parse_frame(std::span(out).subspan(4));
  }
};

Frame message(Tag tag, std::span<const std::byte> payload) {
  return {.kind = Frame::Kind::kMessage,
          .tag = tag,
          .bytes = payload.size(),
          .payload = payload};
}
Frame announcement(Tag tag, std::uint32_t id, std::uint64_t bytes) {
  return {.kind = Frame::Kind::kAnnounce, .tag = tag, .id = id, .bytes = bytes};
}
Frame part(std::uint32_t id, std::span<const std::byte> payload) {
  return {.kind = Frame::Kind::kPart, .id = id, .payload = payload};
}
Frame withdrawal(Tag tag, std::uint32_t id) {
  return {.kind = Frame::Kind::kWithdraw, .tag = tag, .id = id};
}

TEST(TcpInbox, KeepsWhatNobodyWaitsFor) {
  Receiver receiver;
  const Bytes first(10, std::byte{1});
  const Bytes second(20, std::byte{2});
  EXPECT_FALSE(receiver.inbox.take(message(4, first)));
  EXPECT_FALSE(receiver.inbox.take(message(5, second)));
  EXPECT_FALSE(receiver.inbox.take(message(4, second)));
  for (const auto& [tag, bytes] :
       {std::pair(5u, second), std::pair(4u, first), std::pair(4u, second)}) {
    IdleTransfer receive(receiver.transport, Kind::kReceive, tag, 20);
    const auto outcome = receiver.inbox.receive(receive.get());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->bytes, bytes.size());
    receive.bytes().resize(bytes.size());
    EXPECT_EQ(receive.bytes(), bytes);
  }
}

TEST(TcpInbox, GrantsALongMessageWhenItsReceiveIsThere) {
  Receiver receiver;
  const Bytes half(kMostPart, std::byte{7});
  EXPECT_FALSE(receiver.inbox.take(announcement(4, 9, 2 * kMostPart)));
  EXPECT_TRUE(receiver.answers.is_empty());
  IdleTransfer receive(receiver.transport, Kind::kReceive, 4, 2 * kMostPart);
  EXPECT_FALSE(receiver.inbox.receive(receive.get()));
  EXPECT_EQ(receiver.next_answer().id, 9u);
  EXPECT_FALSE(receiver.inbox.take(part(9, half)));
  const auto outcome = receiver.inbox.take(part(9, half));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->transfer, &receive.get());
  EXPECT_EQ(outcome->bytes, 2 * kMostPart);
  EXPECT_EQ(receive.bytes(), Bytes(2 * kMostPart, std::byte{7}));
}

TEST(TcpInbox, GivesCreditBackAsMessagesAreTaken) {
  Receiver receiver;
  const Bytes bytes(kMostPart);
  std::size_t taken = 0;
  while (receiver.answers.is_empty()) {
    IdleTransfer receive(receiver.transport, Kind::kReceive, 1, kMostPart);
    receiver.inbox.receive(receive.get());
    ASSERT_TRUE(receiver.inbox.take(message(1, bytes)));
    taken += kMostPart + tcp::kMessageCost;
    ASSERT_LE(taken, tcp::kWindow / 2);
  }
  EXPECT_EQ(receiver.next_answer().bytes, taken);
}

TEST(TcpInbox, DropsWhatComesForAReceiveThatIsGivenUp) {
  Receiver receiver;
  const Bytes bytes(10, std::byte{3});
  {
    IdleTransfer waiting(receiver.transport, Kind::kReceive, 1, 10);
    IdleTransfer granted(receiver.transport, Kind::kReceive, 2, 10);
    receiver.inbox.receive(waiting.get());
    receiver.inbox.receive(granted.get());
    receiver.inbox.take(announcement(2, 0, 10));
    receiver.inbox.forget(waiting.get());
    receiver.inbox.forget(granted.get());
  }
  EXPECT_FALSE(receiver.inbox.take(message(1, bytes)));
  EXPECT_FALSE(receiver.inbox.take(part(0, bytes)));
}

TEST(TcpInbox, AMessageThatIsTooLongFailsItsReceiveAndIsStillSent) {
  Receiver receiver;
  IdleTransfer receive(receiver.transport, Kind::kReceive, 1, 5);
  receiver.inbox.receive(receive.get());
  const auto outcome = receiver.inbox.take(announcement(1, 0, 10));
  ASSERT_TRUE(outcome && outcome->failure);
  EXPECT_THAT(outcome->failure->what(),
              testing::HasSubstr("longer than the 5"));
  EXPECT_EQ(receiver.next_answer().kind, Frame::Kind::kGrant);
  EXPECT_FALSE(receiver.inbox.take(part(0, Bytes(10))));
}

TEST(TcpInbox, AWithdrawnMessageFailsItsReceive) {
  Receiver receiver;
  receiver.inbox.take(announcement(1, 0, 10));
  receiver.inbox.take(withdrawal(1, 0));
  IdleTransfer receive(receiver.transport, Kind::kReceive, 1, 10);
  EXPECT_FALSE(receiver.inbox.receive(receive.get()));
  receiver.inbox.take(announcement(1, 1, 10));
  const auto outcome = receiver.inbox.take(withdrawal(1, 1));
  ASSERT_TRUE(outcome && outcome->failure);
  EXPECT_THAT(outcome->failure->what(),
              testing::HasSubstr("rank 1: took back what it was sending"));
}

TEST(TcpInbox, EndsWithWhatCannotComeAnyMore) {
  Receiver receiver;
  const Bytes bytes(10);
  receiver.inbox.take(message(1, bytes));
  receiver.inbox.take(announcement(1, 0, 10));
  receiver.inbox.take(message(1, bytes));
  IdleTransfer waiting(receiver.transport, Kind::kReceive, 2, 10);
  receiver.inbox.receive(waiting.get());
  EXPECT_EQ(receiver.inbox.end(), std::vector<Transfer*>{&waiting.get()});
  IdleTransfer first(receiver.transport, Kind::kReceive, 1, 10);
  IdleTransfer second(receiver.transport, Kind::kReceive, 1, 10);
  EXPECT_TRUE(receiver.inbox.receive(first.get()));
  // What is behind the announced message is not taken for it.
  EXPECT_FALSE(receiver.inbox.receive(second.get()));
}

TEST(TcpInbox, RefusesWhatFitsNothing) {
  Receiver receiver;
  const Bytes bytes(10);
  const auto refuse = [&](const Frame& frame, const char* why) {
    test::expect_error(ErrorCode::kDataLoss, {why},
                       [&] { receiver.inbox.take(frame); });
  };
  refuse(part(3, bytes), "nobody granted");
  IdleTransfer receive(receiver.transport, Kind::kReceive, 1, 10);
  receiver.inbox.receive(receive.get());
  receiver.inbox.take(announcement(1, 3, 5));
  refuse(announcement(2, 3, 5), "twice");
  refuse(part(3, bytes), "beyond the end");
  refuse({.kind = Frame::Kind::kMeet}, "not due here");
  const Bytes large(kMostPart);
  const std::size_t fit = tcp::kWindow / (kMostPart + tcp::kMessageCost);
  for (std::size_t i = 0; i < fit; ++i) receiver.inbox.take(message(8, large));
  refuse(message(8, large), "more than its sender had credit for");
}

}  // namespace
}  // namespace weft::tcp_inbox_test
