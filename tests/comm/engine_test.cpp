#include "weft/comm/transport/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/exchanges.h"

#include "weft/comm/transport/thread.h"

namespace weft::engine_test {
namespace {

using test::add_up;
using test::bytes_of;
using test::message_of;
using testing::HasSubstr;

Task<> receive_one(Channel channel, int from, std::vector<int>& values) {
  Transfer received = channel.receive(from, bytes_of(values));
  co_await received;
}

Task<> send_one(Channel channel, int to, std::vector<int> values) {
  Transfer sent = channel.send(to, bytes_of(values));
  co_await sent;
}

TEST(Engine, RunsATaskOnEveryRank) {
  ThreadWorld world(5);
  world.run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<int> values(100, transport.rank());
    engine.run(add_up(all.open({"add_up", "i32[100]"}), values));
    EXPECT_EQ(values, std::vector<int>(100, 0 + 1 + 2 + 3 + 4));
  });
}

TEST(Engine, KeepsOperationsInFlightApartWhateverTheDelays) {
  constexpr int kOperations = 100;
  ThreadWorld world(4, {.most_delay = 2e-3, .seed = 7});
  world.run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<std::vector<int>> values;
    std::vector<Engine::Operation> operations;
    for (int i = 0; i < kOperations; ++i) {
      values.emplace_back(3, i * 10 + transport.rank());
    }
    for (int i = 0; i < kOperations; ++i) {
      operations.push_back(
          engine.start(add_up(all.open({"add_up", "i32[3]"}),
                              values[static_cast<std::size_t>(i)])));
    }
    // Each rank has another order.
    for (int i = 0; i < kOperations; ++i) {
      const int which = (i * (2 * transport.rank() + 1)) % kOperations;
      if (operations[static_cast<std::size_t>(which)]) {
        engine.wait(operations[static_cast<std::size_t>(which)]);
        operations[static_cast<std::size_t>(which)] = nullptr;
      }
    }
    for (const auto& operation : operations) {
      if (operation) engine.wait(operation);
    }
    for (int i = 0; i < kOperations; ++i) {
      EXPECT_EQ(values[static_cast<std::size_t>(i)],
                std::vector<int>(3, 4 * 10 * i + 0 + 1 + 2 + 3));
    }
  });
}

// As a large model has them in small slices; some overtake all others.
TEST(Engine, KeepsThousandsOfOperationsInFlightApart) {
  constexpr std::size_t kOperations = 5000;
  ThreadWorld world(2);
  world.run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<Channel> channels;
    std::vector<Engine::Operation> operations;
    std::vector<std::vector<int>> values(kOperations, {0});
    for (std::size_t i = 0; i < kOperations; ++i) {
      channels.push_back(all.open({"give", "i32[1]"}));
    }
    for (std::size_t i = 0; i < kOperations; ++i) {
      const std::size_t last = kOperations - 1 - i;
      operations.push_back(engine.start(
          transport.rank() == 0
              ? send_one(channels[last], 1, {static_cast<int>(last)})
              : receive_one(channels[i], 0, values[i])));
    }
    for (const auto& operation : operations) engine.wait(operation);
    for (std::size_t i = 0; transport.rank() == 1 && i < kOperations; ++i) {
      EXPECT_EQ(values[i][0], static_cast<int>(i));
    }
  });
}

TEST(Engine, GroupsRunSideBySide) {
  ThreadWorld world(6);
  world.run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    const int color = transport.rank() % 2;
    const std::vector<int> members = {color, color + 2, color + 4};
    Communicator group = all.split(members);
    std::vector<int> mine(10, transport.rank());
    std::vector<int> everyone(10, transport.rank());
    const auto first =
        engine.start(add_up(group.open({"add_up", "i32[10]"}), mine));
    const auto second =
        engine.start(add_up(all.open({"add_up", "i32[10]"}), everyone));
    engine.wait(second);
    engine.wait(first);
    EXPECT_EQ(mine, std::vector<int>(10, 3 * color + 6));
    EXPECT_EQ(everyone, std::vector<int>(10, 15));
  });
}

// Groups come and go for ever.
TEST(Engine, GroupsAreReleased) {
  ThreadWorld world(4);
  world.run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    const int color = transport.rank() % 2;
    for (int i = 0; i < 50; ++i) {
      // Pairs and all, in turn, so that numbers go to other groups.
      const std::vector<int> members = i % 3 == 0
                                           ? std::vector<int>{0, 1, 2, 3}
                                           : std::vector<int>{color, color + 2};
      Communicator group = all.split(members);
      const Communicator copy = group;
      std::vector<int> values(10, 1);
      engine.run(add_up(group.open({"add_up", "i32[10]"}), values));
      EXPECT_EQ(values, std::vector<int>(10, group.size()));
    }
  });
}

// Each operation of a step may have a name, and so tags, of its own.
TEST(Engine, OperationsThatAreOverTakeNoMemory) {
  constexpr int kOperations = 10'000;
  ThreadWorld world(2);
  Communicator from(world.endpoint(0));
  Communicator to(world.endpoint(1));
  int number = 0;
  const auto pass = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const OperationInfo info{"give", fmt::format("step {}", number++)};
      std::vector<int> values = {i};
      std::vector<int> heard = {-1};
      const Transfer sent = from.open(info).send(1, bytes_of(values));
      const Transfer received = to.open(info).receive(0, bytes_of(heard));
      ASSERT_TRUE(received.await_ready());
      EXPECT_EQ(heard, values);
    }
  };
  // So many operations are remembered, to be asked about.
  pass(2000);
  const std::size_t before = mallinfo2().uordblks;
  pass(kOperations);
  EXPECT_LT(mallinfo2().uordblks, before + 64 * kOperations);
}

TEST(Engine, NamesTheSilentRankTheOperationAndTheTensor) {
  ThreadWorld world(2);
  std::string message;
  world.run([&](Transport& transport) {
    if (transport.rank() == 1) return;  // there, but silent
    Engine engine(transport, {.timeout = 0.02, .ask_after = 0.005});
    Communicator all(transport);
    std::vector<int> values(25);
    message = message_of([&] {
      engine.run(
          receive_one(all.open({"broadcast", "i32[25] 'conv1'"}), 1, values));
    });
  });
  EXPECT_THAT(message, HasSubstr("rank 1 has not answered"));
  EXPECT_THAT(message, HasSubstr("100 bytes"));
  EXPECT_THAT(message, HasSubstr("broadcast of i32[25] 'conv1'"));
}

TEST(Engine, ReportsBothSidesOfAMismatch) {
  std::vector<std::string> messages(3);
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    Engine engine(transport, {.timeout = 60, .ask_after = 0.005});
    Communicator all(transport);
    std::vector<int> values(10);
    const char* tensor = transport.rank() == 2 ? "f32[10] 'b'" : "f32[10] 'a'";
    messages[static_cast<std::size_t>(transport.rank())] = message_of([&] {
      engine.run(add_up(all.open({"add_up", tensor}), values));
    });
  });
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr("different operations"));
    EXPECT_THAT(message, HasSubstr("add_up of f32[10] 'a'"));
    EXPECT_THAT(message, HasSubstr("rank 2: add_up of f32[10] 'b'"));
  }
}

TEST(Engine, AFailureReachesAllRanksWithItsReason) {
  std::vector<std::string> messages(3);
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<int> values(10);
    messages[static_cast<std::size_t>(transport.rank())] = message_of([&] {
      if (transport.rank() == 1) {
        const Error error(ErrorCode::kNumeric, "step 7", "the loss is nan");
        engine.fail(error);
        throw error;
      }
      engine.run(add_up(all.open({"add_up", ""}), values));
    });
  });
  EXPECT_THAT(messages[0], HasSubstr("rank 1: step 7: the loss is nan"));
  EXPECT_THAT(messages[2], HasSubstr("rank 1: step 7: the loss is nan"));
}

TEST(Engine, ARankThatDiesIsNoticedAtOnce) {
  ThreadWorld world(3);
  const std::string message = message_of([&] {
    world.run([](Transport& transport) {
      if (transport.rank() == 2) {
        throw Error(ErrorCode::kInternal, "rank 2", "killed");
      }
      Engine engine(transport);
      Communicator all(transport);
      std::vector<int> values(10);
      engine.run(add_up(all.open({"add_up", ""}), values));
    });
  });
  EXPECT_THAT(message, HasSubstr("rank 2: killed"));
}

TEST(Engine, AMessageLongerThanItsRoomIsAnError) {
  ThreadWorld world(2);
  const std::string message = message_of([&] {
    world.run([](Transport& transport) {
      Engine engine(transport);
      Communicator all(transport);
      std::vector<int> values(3);
      const Channel channel = all.open({"give", ""});
      if (transport.rank() == 0) {
        engine.run(send_one(channel, 1, {1, 2, 3, 4}));
      } else {
        engine.run(receive_one(channel, 0, values));
      }
    });
  });
  EXPECT_THAT(message, HasSubstr("16 bytes from rank 0 is longer than the 12"));
}

TEST(Engine, NothingStartsAfterAFailure) {
  ThreadWorld world(1);
  Engine engine(world.endpoint(0));
  Communicator all(world.endpoint(0));
  engine.fail(Error(ErrorCode::kInternal, "test", "broken"));
  std::vector<int> values(3);
  EXPECT_THROW(engine.run(add_up(all.open({"add_up", ""}), values)), Error);
}

Task<> fail_after(Channel channel, int number, std::vector<int>& order) {
  Transfers own(channel);
  order.push_back(number);
  if (number == 1) throw Error(ErrorCode::kInternal, "task", "number 1");
  co_await own.all();
  order.push_back(10 + number);
}

TEST(Task, AllOfRunsEveryTaskAndRethrowsTheFirstFailure) {
  ThreadWorld world(1);
  Engine engine(world.endpoint(0));
  Communicator all(world.endpoint(0));
  std::vector<int> order;
  std::vector<Task<>> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.push_back(fail_after(all.open({"task", ""}), i, order));
  }
  EXPECT_THAT(message_of([&] { engine.run(all_of(std::move(tasks))); }),
              HasSubstr("number 1"));
  EXPECT_EQ(order, (std::vector<int>{0, 10, 1, 2, 12}));
}

}  // namespace
}  // namespace weft::engine_test
