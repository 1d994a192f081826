#include "weft/comm/transport/neighbour.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "tests/support/idle_transport.h"

namespace weft::neighbour_test {
namespace {

constexpr std::size_t kCapacity = 1024;
constexpr std::size_t kMost = kCapacity / 2 - 64;  // of a message

// Two ranks and their pipes.
struct Pair {
  using Words = std::vector<std::uint64_t>;

  Words there = Words(PipeMemory::size_for(kCapacity) / 8);
  Words back = Words(PipeMemory::size_for(kCapacity) / 8);
  Neighbour a{PipeWriter(over(there)), PipeReader(over(back))};
  Neighbour b{PipeWriter(over(back)), PipeReader(over(there))};

  static PipeMemory over(Words& words) {
    return {reinterpret_cast<std::byte*>(words.data()), kCapacity};
  }
};

// A transfer with its bytes.
struct Message {
  Message(Transport& transport, Transfer::Kind kind, Tag tag, std::size_t size,
          int value = 0, Fold fold = nullptr)
      : bytes(size, static_cast<std::byte>(value)),
        transfer(transport, kind, {1, tag, 0}, bytes.data(), size,
                 std::make_shared<EnteredOperation>(), fold) {}

  std::vector<std::byte> bytes;
  Transfer transfer;
};

class NeighbourTest : public testing::Test {
 protected:
  Message send(Tag tag, std::size_t size, int value) {
    return {network_, Transfer::Kind::kSend, tag, size, value};
  }
  Message receive(Tag tag, std::size_t size) {
    return {network_, Transfer::Kind::kReceive, tag, size};
  }
  // Adds what comes to bytes of this value.
  Message fold(Tag tag, std::size_t size, int value) {
    return {network_,
            Transfer::Kind::kReceive,
            tag,
            size,
            value,
            [](const std::byte* from, std::byte* into, std::size_t bytes) {
              for (std::size_t i = 0; i < bytes; ++i) {
                into[i] = static_cast<std::byte>(std::to_integer<int>(into[i]) +
                                                 std::to_integer<int>(from[i]));
              }
            }};
  }
  static bool holds(const Message& message, std::size_t size, int value) {
    return std::vector<std::byte>(
               message.bytes.begin(),
               message.bytes.begin() + static_cast<std::ptrdiff_t>(size)) ==
           std::vector<std::byte>(size, static_cast<std::byte>(value));
  }

  test::IdleTransport network_;
  Pair pair_;
};

TEST_F(NeighbourTest, AReceiveFindsWhatHasCome) {
  Message sent = send(1, 10, 42);
  Message received = receive(1, 20);
  ASSERT_TRUE(pair_.a.send(sent.transfer));
  const auto outcome = pair_.b.receive(received.transfer);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->transfer, &received.transfer);
  EXPECT_EQ(outcome->bytes, 10u);
  EXPECT_TRUE(holds(received, 10, 42));
}

TEST_F(NeighbourTest, AReceiveWaitsForWhatComesLater) {
  Message sent = send(1, 10, 42);
  Message received = receive(1, 10);
  EXPECT_FALSE(pair_.b.receive(received.transfer));
  EXPECT_FALSE(pair_.b.move());
  pair_.a.send(sent.transfer);
  const auto outcome = pair_.b.move();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->transfer, &received.transfer);
  EXPECT_TRUE(holds(received, 10, 42));
}

TEST_F(NeighbourTest, AMessageBehindOneThatNobodyWaitsForArrives) {
  Message first = send(1, kMost, 1);
  Message second = send(1, 10, 2);
  Message other = send(2, 10, 3);
  for (Message* message : {&first, &second, &other}) {
    EXPECT_TRUE(pair_.a.send(message->transfer));
  }
  Message other_received = receive(2, 10);
  EXPECT_FALSE(pair_.b.receive(other_received.transfer));
  ASSERT_TRUE(pair_.b.move());
  EXPECT_TRUE(holds(other_received, 10, 3));
  // What was put aside keeps its order.
  Message first_received = receive(1, kMost);
  Message second_received = receive(1, kMost);
  EXPECT_EQ(pair_.b.receive(first_received.transfer)->bytes, kMost);
  EXPECT_EQ(pair_.b.receive(second_received.transfer)->bytes, 10u);
  EXPECT_TRUE(holds(first_received, kMost, 1));
  EXPECT_TRUE(holds(second_received, 10, 2));
}

TEST_F(NeighbourTest, FoldsWhatComesIntoWhatIsThere) {
  // Around the end of the ring, too.
  for (int i = 0; i < 5; ++i) {
    Message sent = send(1, kMost, i);
    Message folded = fold(1, kMost, 100);
    ASSERT_TRUE(pair_.a.send(sent.transfer));
    ASSERT_TRUE(pair_.b.receive(folded.transfer));
    EXPECT_TRUE(holds(folded, kMost, 100 + i)) << i;
  }
  // From what was put aside, and shorter than there is room.
  Message first = send(1, 16, 1);
  Message second = send(2, 16, 2);
  for (Message* message : {&first, &second}) pair_.a.send(message->transfer);
  Message of_second = receive(2, 16);
  EXPECT_FALSE(pair_.b.receive(of_second.transfer));
  ASSERT_TRUE(pair_.b.move());
  Message folded = fold(1, 32, 100);
  ASSERT_TRUE(pair_.b.receive(folded.transfer));
  EXPECT_TRUE(holds(folded, 16, 101));
  EXPECT_EQ(folded.bytes[16], std::byte{100});
}

TEST_F(NeighbourTest, SendsWaitForRoomAndKeepTheirOrder) {
  std::vector<std::unique_ptr<Message>> sent;
  for (int i = 0; i < 4; ++i) {
    sent.push_back(std::make_unique<Message>(network_, Transfer::Kind::kSend, 1,
                                             kMost, i));
    EXPECT_EQ(pair_.a.send(sent.back()->transfer).has_value(), i < 2);
  }
  // Also behind those that wait.
  Message announced = send(1, std::size_t{1} << 20, 4);
  EXPECT_FALSE(pair_.a.fits(announced.transfer.bytes()));
  pair_.a.announce(announced.transfer);
  for (int i = 0; i < 4; ++i) {
    Message received = receive(1, kMost);
    ASSERT_TRUE(pair_.b.receive(received.transfer)) << i;
    EXPECT_TRUE(holds(received, kMost, i));
    const auto moved = pair_.a.move();
    EXPECT_EQ(
        moved ? moved->transfer : nullptr,
        i < 2 ? &sent[static_cast<std::size_t>(i) + 2]->transfer : nullptr);
  }
  Message received = receive(1, std::size_t{1} << 20);
  const auto outcome = pair_.b.receive(received.transfer);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->is_announcement);
  EXPECT_EQ(outcome->bytes, std::size_t{1} << 20);
}

TEST_F(NeighbourTest, AMessageLongerThanItsRoomIsNotCopied) {
  Message sent = send(1, 10, 42);
  Message next = send(1, 3, 43);
  pair_.a.send(sent.transfer);
  pair_.a.send(next.transfer);
  Message short_room = receive(1, 3);
  EXPECT_EQ(pair_.b.receive(short_room.transfer)->bytes, 10u);
  EXPECT_TRUE(holds(short_room, 3, 0));
  EXPECT_EQ(pair_.b.receive(short_room.transfer)->bytes, 3u);
  EXPECT_TRUE(holds(short_room, 3, 43));
}

TEST_F(NeighbourTest, ForgetsWhatWaits) {
  Message waiting = receive(1, 10);
  EXPECT_FALSE(pair_.b.forget(waiting.transfer));
  pair_.b.receive(waiting.transfer);
  EXPECT_TRUE(pair_.b.forget(waiting.transfer));
  Message large = send(1, kMost, 1);
  Message queued = send(1, kMost, 2);
  pair_.a.send(large.transfer);
  pair_.a.send(large.transfer);
  EXPECT_FALSE(pair_.a.send(queued.transfer));
  EXPECT_TRUE(pair_.a.forget(queued.transfer));
  EXPECT_FALSE(pair_.b.move()) << "nobody waits any more";
}

}  // namespace
}  // namespace weft::neighbour_test
