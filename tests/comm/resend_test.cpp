// Messages that arrive whole although parts of them are lost on the way.
#include "weft/comm/transport/resend.h"

#include <gtest/gtest.h>
#include <numeric>

#include "weft/comm/transport/sim.h"

namespace weft::resend_test {
namespace {

constexpr std::size_t kPart = PartMap::kPartBytes;
constexpr double kSilence = 10e-3;

struct Passed {
  std::vector<std::byte> came;
  double seconds = 0;
  // What both ranks have sent.
  std::int64_t messages = 0;
  double bytes = 0;
};

std::vector<std::byte> numbered(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(1 + i % 251);
  }
  return bytes;
}

// One message from rank 0 to rank 1, at 1 GB/s so that rounds are what it
// costs.
Passed pass(std::size_t size, const SimWorldOptions& options) {
  Passed passed;
  passed.came.resize(size);
  const std::vector<std::byte> sent = numbered(size);
  SimWorld world(parse_topology("2@1us,1GB/s"), options);
  passed.seconds = world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"pass", ""});
    if (channel.rank() == 0) {
      co_await send_until_whole(channel, 1, sent);
    } else {
      co_await receive_until_whole(channel, 0, passed.came);
    }
  });
  for (int rank = 0; rank < 2; ++rank) {
    passed.messages += world.traffic(rank)[0].messages;
    passed.bytes += static_cast<double>(world.traffic(rank)[0].bytes);
  }
  return passed;
}

TEST(Resend, BringsEverySizeWholeWhateverIsLost) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kPart - 1, kPart, kPart + 1, 8 * kPart,
        200 * kPart + 7}) {
    for (const double loss : {0.0, 0.1, 0.9}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const SimWorldOptions options{.loss = loss, .seed = seed};
        EXPECT_EQ(pass(size, options).came, numbered(size))
            << size << " bytes, loss " << loss << ", seed " << seed;
      }
    }
  }
}

// A message and its answer of a bit for each part, and nobody waits.
TEST(Resend, CostsOneAnswerWhereNothingIsLost) {
  const Passed passed = pass(100 * kPart, {});
  EXPECT_EQ(passed.messages, 2);
  EXPECT_EQ(passed.bytes, 100 * kPart + 13);
  EXPECT_LT(passed.seconds, kSilence);
}

// Where 10 % of 1,000 parts are lost, about 100 are missing after the first
// round, one after the second and none after the third: each round but the last
// ends with a silence. In the second all that is missing is sent twice.
TEST(Resend, NeedsFewRounds) {
  const Passed passed = pass(
      1000 * kPart, {.loss = 0.1, .tcp_timeout = 1e-9, .silence = kSilence});
  EXPECT_GT(passed.seconds, kSilence);
  EXPECT_LT(passed.seconds, 4 * kSilence);
  const auto whole = static_cast<double>(1000 * kPart);
  EXPECT_NEAR(passed.bytes, 1.2 * whole, 0.06 * whole);
}

// What is asked for is there, or the sender says what is wrong.
TEST(Resend, DeclinesAnAnswerThatIsNone) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}}) {
    SimWorld world(parse_topology("2@1us,1GB/s"), {});
    const auto sent = numbered(3 * kPart);
    EXPECT_THROW(world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const Channel channel = all.open({"pass", ""});
      if (channel.rank() == 0) {
        co_await send_until_whole(channel, 1, sent);
        co_return;
      }
      std::vector<std::byte> room(sent.size());
      PartMap came;
      Transfer received = channel.receive_lossy(0, room, came);
      co_await received;
      // Part 7 of three, or too many bytes.
      const std::vector<std::byte> answer(size, std::byte{0x80});
      Transfer answered = channel.send(0, answer);
      co_await answered;
    }),
                 Error);
  }
}

}  // namespace
}  // namespace weft::resend_test
