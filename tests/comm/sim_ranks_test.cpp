#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/sim.h"

namespace weft::sim_ranks_test {
namespace {

using test::message_of;
using testing::HasSubstr;

// 1 ms of latency, 1 MB/s.
Topology network(int ranks) { return {{{ranks, 1e-3, 1e-6}}}; }

Task<> tell(Channel channel, int to, std::span<const std::byte> bytes) {
  co_await channel.send(to, bytes);
}

Task<> hear(Channel channel, int from, std::span<std::byte> room) {
  co_await channel.receive(from, room);
}

// Sends `bytes` from rank 0 to rank 1; the others do nothing.
Task<> pass(Channel channel, std::span<std::byte> bytes) {
  if (channel.rank() == 0) co_await channel.send(1, bytes);
  if (channel.rank() == 1) co_await channel.receive(0, bytes);
}

TEST(SimRanks, ComputingHidesWhatIsUnderWay) {
  SimWorld world(network(2));
  std::vector<double> ended(2);
  std::vector<double> busy(2);
  const double whole = world.run_ranks([&](Transport& transport) {
    Communicator all(transport);
    const auto engine = transport.start_engine({});
    std::vector<std::byte> bytes(10'000);
    const auto passing = engine->submit([&] {
      return pass(all.open({"pass", ""}), bytes);
    });
    // 10 ms on the wire and 1 ms until it arrives, behind 30 ms of computing.
    engine->charge(0.03);
    engine->wait(passing);
    ended[static_cast<std::size_t>(transport.rank())] = engine->now();
    busy[static_cast<std::size_t>(transport.rank())] =
        engine->traffic().busy_seconds;
    EXPECT_EQ(engine->traffic().bytes_sent, transport.rank() == 0 ? 10'000 : 0);
  });
  EXPECT_DOUBLE_EQ(whole, 0.03);
  EXPECT_DOUBLE_EQ(ended[0], 0.03);
  EXPECT_DOUBLE_EQ(ended[1], 0.03);
  EXPECT_DOUBLE_EQ(busy[0], 0.01);
  EXPECT_DOUBLE_EQ(busy[1], 0.011);
  EXPECT_DOUBLE_EQ(world.computing_seconds(0), 0.03);
}

TEST(SimRanks, WaitingCostsWhatComputingDoesNotHide) {
  SimWorld world(network(2));
  const double whole = world.run_ranks([&](Transport& transport) {
    Communicator all(transport);
    const auto engine = transport.start_engine({});
    std::vector<std::byte> bytes(10'000);
    for (int step = 0; step < 3; ++step) {
      engine->charge(0.002);
      engine->wait(engine->submit([&] {
        return pass(all.open({"pass", ""}), bytes);
      }));
    }
  });
  // The sender goes on when its card is free; a message of the next step is
  // 2 ms of computing behind the one before it.
  EXPECT_DOUBLE_EQ(whole, 3 * 0.012 + 0.001);
}

// A pause within an operation is computing too, and takes its turn.
TEST(SimRanks, OperationsComputeOnTheSameProcessor) {
  SimWorld world(network(2));
  const double whole = world.run_ranks([&](Transport& transport) {
    Communicator all(transport);
    const auto engine = transport.start_engine({});
    const auto encoding = engine->submit([&]() -> Task<> {
      return [](Channel channel) -> Task<> {
        co_await channel.pause(0.02);
      }(all.open({"encode", ""}));
    });
    engine->charge(0.03);
    engine->wait(encoding);
  });
  EXPECT_DOUBLE_EQ(whole, 0.05);
}

TEST(SimRanks, RunInAnOrderThatNothingChanges) {
  const auto order = [] {
    SimWorld world(network(5), {.loss = 0.2, .most_delay = 1e-2, .seed = 3});
    std::vector<int> told;
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      const auto engine = transport.start_engine({});
      for (int step = 0; step < 20; ++step) {
        const int to = (transport.rank() + 1 + step) % 5;
        const int from = (transport.rank() + 9 - step % 5) % 5;
        std::vector<std::byte> sent(100);
        std::vector<std::byte> came(100);
        const Channel channel = all.open({"pass", ""});
        const auto telling =
            engine->submit([&] { return tell(channel, to, sent); });
        engine->wait(engine->submit([&] { return hear(channel, from, came); }));
        told.push_back(transport.rank());
        engine->wait(telling);
      }
    });
    return told;
  };
  const std::vector<int> first = order();
  EXPECT_EQ(first.size(), 100);
  EXPECT_EQ(first, order());
}

TEST(SimRanks, OneThatThrowsIsNamedToThoseWhoWaitForIt) {
  std::vector<std::string> messages(3);
  SimWorld world(network(3));
  const std::string thrown = message_of([&] {
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      const auto engine = transport.start_engine({});
      if (transport.rank() == 1) {
        engine->charge(1);
        throw Error(ErrorCode::kNumeric, "step 7", "the loss is nan");
      }
      std::byte byte{};
      messages[static_cast<std::size_t>(transport.rank())] = message_of([&] {
        engine->wait(engine->submit([&] {
          return hear(all.open({"hear", ""}), 1, std::span(&byte, 1));
        }));
      });
    });
  });
  EXPECT_THAT(thrown, testing::StartsWith("step 7: the loss is nan"));
  EXPECT_THAT(messages[0], HasSubstr("rank 1: step 7: the loss is nan"));
  EXPECT_THAT(messages[2], HasSubstr("rank 1: step 7: the loss is nan"));
}

// What a rank has sent before it left still arrives.
TEST(SimRanks, OneThatLeavesTakesNothingWithIt) {
  std::byte came{};
  SimWorld world(network(2));
  const std::string thrown = message_of([&] {
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      const auto engine = transport.start_engine({});
      const Channel channel = all.open({"last words", ""});
      if (transport.rank() == 1) {
        const std::byte word{7};
        engine->wait(engine->submit(
            [&] { return tell(channel, 0, std::span(&word, 1)); }));
        const Error leaving(ErrorCode::kCancelled, "train", "interrupted");
        engine->fail(leaving);
        throw leaving;
      }
      engine->wait(engine->submit(
          [&] { return hear(channel, 1, std::span(&came, 1)); }));
    });
  });
  EXPECT_EQ(came, std::byte{7});
  EXPECT_THAT(thrown, HasSubstr("interrupted"));
}

TEST(SimRanks, ThoseWhoWaitForEachOtherAreToldAtOnce) {
  SimWorld world(network(3));
  std::vector<std::string> messages(3);
  const std::string thrown = message_of([&] {
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      const auto engine = transport.start_engine({.timeout = 1e9});
      std::byte byte{};
      messages[static_cast<std::size_t>(transport.rank())] = message_of([&] {
        engine->wait(engine->submit([&] {
          return hear(all.open({"hear", "f32[1] 'a'"}),
                      (transport.rank() + 1) % 3, std::span(&byte, 1));
        }));
      });
    });
  });
  for (const std::string& message : {thrown, messages[0], messages[2]}) {
    EXPECT_THAT(message, HasSubstr("3 of 3 ranks wait for ever"));
    EXPECT_THAT(message, HasSubstr("rank 2: waiting to hear rank 0 1 bytes, in "
                                   "hear of f32[1] 'a'"));
  }
}

TEST(SimRanks, LeavingGivesUpWhatIsUnderWay) {
  SimWorld world(network(2));
  std::string message;
  const std::string thrown = message_of([&] {
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      const auto engine = transport.start_engine({});
      std::byte byte{};
      const auto operation = engine->submit([&] {
        return hear(all.open({"hear", ""}), 1 - transport.rank(),
                    std::span(&byte, 1));
      });
      if (transport.rank() == 1) return;  // the engine goes
      message = message_of([&] { engine->wait(operation); });
    });
  });
  EXPECT_THAT(message, HasSubstr("rank 1: left while operations"));
  EXPECT_THAT(thrown, HasSubstr("left while operations"));
}

TEST(SimRanks, NothingRefersToItsCallerThatWasGivenUp) {
  SimWorld world(network(2));
  const std::string thrown = message_of([&] {
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      const auto engine = transport.start_engine({});
      engine->give_up();  // of nothing, which nobody learns of
      std::byte byte{};
      const auto operation = engine->submit([&] {
        return hear(all.open({"hear", ""}), 1 - transport.rank(),
                    std::span(&byte, 1));
      });
      EXPECT_FALSE(operation->is_over);
      if (transport.rank() == 0) engine->wait(operation);
      engine->give_up();
      EXPECT_TRUE(operation->is_over);
    });
  });
  EXPECT_THAT(thrown, HasSubstr("left while operations"));
}

}  // namespace
}  // namespace weft::sim_ranks_test
