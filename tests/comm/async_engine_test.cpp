#include "weft/comm/transport/async_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/task_signal.h"
#include "weft/comm/transport/thread.h"

namespace weft::async_engine_test {
namespace {

using test::message_of;
using testing::HasSubstr;

// Passes `value` once round the ring, each rank adding its own.
Task<> pass_round(Channel channel, int* value) {
  const int ranks = channel.size();
  const int next = (channel.rank() + 1) % ranks;
  const int previous = (channel.rank() + ranks - 1) % ranks;
  const auto bytes = std::as_writable_bytes(std::span(value, 1));
  int came = 0;
  const auto room = std::as_writable_bytes(std::span(&came, 1));
  if (channel.rank() > 0) {
    co_await channel.receive(previous, room);
    *value += came;
  }
  co_await channel.send(next, bytes);
  if (channel.rank() == 0) {
    co_await channel.receive(previous, room);
    *value = came;
  }
}

Task<> listen(Channel channel, int from) { co_await channel.receive(from, {}); }

TEST(AsyncEngine, OperationsRunWhileTheCallerDoesOtherThings) {
  constexpr int kOperations = 200;
  ThreadWorld world(4, {.most_delay = 1e-4, .seed = 2});
  world.run([](Transport& transport) {
    Communicator all(transport);
    const auto network = transport.start_engine({});
    std::vector<int> values(kOperations, transport.rank());
    std::vector<AsyncEngine::Operation> operations;
    for (int& value : values) {
      operations.push_back(network->submit([&] {
        return pass_round(all.open({"round", ""}), &value);
      }));
    }
    for (std::size_t i = kOperations; i-- > 0;) network->wait(operations[i]);
    const int sums[] = {0 + 1 + 2 + 3, 0 + 1, 0 + 1 + 2, 0 + 1 + 2 + 3};
    for (const int value : values) EXPECT_EQ(value, sums[transport.rank()]);
    EXPECT_GT(network->traffic().busy_seconds, 0);
  });
}

TEST(AsyncEngine, OneOperationMayBeSubmittedFromTheEndOfAnother) {
  ThreadWorld world(3);
  world.run([](Transport& transport) {
    Communicator all(transport);
    const auto network = transport.start_engine({});
    int first = transport.rank();
    int second = transport.rank();
    network->wait(network->submit([&] {
      return pass_round(all.open({"round", ""}), &first);
    }));
    network->wait(network->submit([&] {
      return pass_round(all.open({"round", ""}), &second);
    }));
    EXPECT_EQ(first, second);
  });
}

TEST(AsyncEngine, IdleTimeIsNotATimeout) {
  ThreadWorld world(2);
  world.run([](Transport& transport) {
    Communicator all(transport);
    // Less than one poll: any idle time at all would be an error.
    const auto network =
        transport.start_engine({.timeout = 1e-9, .ask_after = 1e-9});
    std::this_thread::yield();
    EXPECT_EQ(network->traffic().busy_seconds, 0);
    int value = 0;
    EXPECT_EQ(
        message_of([&] {
          network->wait(network->submit([&]() -> Task<> {
            return pass_round(
                all.open({"round", ""}).among(std::vector<int>{all.rank()}),
                &value);
          }));
        }),
        "nothing was thrown");
  });
}

TEST(AsyncEngine, WaitThrowsWhatTheOperationThrew) {
  std::vector<std::string> messages(3);
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    Communicator all(transport);
    const auto network = transport.start_engine({});
    const auto make = [&]() -> Task<> {
      if (transport.rank() == 1) {
        throw Error(ErrorCode::kNumeric, "step 7", "the loss is nan");
      }
      return listen(all.open({"listen", ""}), 1);
    };
    auto& message = messages[static_cast<std::size_t>(transport.rank())];
    message = message_of([&] { network->wait(network->submit(make)); });
    // And so does everything after it.
    EXPECT_THAT(message_of([&] { network->wait(network->submit(make)); }),
                HasSubstr("the loss is nan"));
  });
  EXPECT_THAT(messages[0], HasSubstr("rank 1: step 7: the loss is nan"));
  EXPECT_THAT(messages[1], testing::StartsWith("step 7: the loss is nan"));
  EXPECT_THAT(messages[2], HasSubstr("rank 1: step 7: the loss is nan"));
}

// What rank 0 hears, waiting for an operation in which rank 1 leaves.
template <class Make>
std::string message_as_the_other_leaves(Make make) {
  ThreadWorld world(2);
  std::string message;
  world.run([&](Transport& transport) {
    Communicator all(transport);
    TaskSignal signal(transport);
    const auto network = transport.start_engine({});
    const auto operation = network->submit([&] { return make(all, signal); });
    if (transport.rank() == 1) return;  // the engine goes
    message = message_of([&] { network->wait(operation); });
  });
  return message;
}

TEST(AsyncEngine, LeavingGivesUpWhatIsUnderWay) {
  const auto make = [](Communicator& all, TaskSignal&) {
    return listen(all.open({"listen", ""}), 1 - all.rank());
  };
  EXPECT_THAT(message_as_the_other_leaves(make),
              HasSubstr("rank 1: left while operations"));
}

Task<> wait_for(TaskSignal& signal) { co_await signal.next(); }

// Whoever was to notify them may never have begun.
TEST(AsyncEngine, TasksThatWaitForOthersEndWithTheNetwork) {
  const auto make = [](Communicator&, TaskSignal& signal) {
    return wait_for(signal);
  };
  EXPECT_THAT(message_as_the_other_leaves(make),
              HasSubstr("rank 1: left while operations"));
}

// Counts the calls that are under way.
class Use {
 public:
  explicit Use(int& uses) : uses_(uses) { ++uses_; }
  ~Use() { --uses_; }

 private:
  int& uses_;
};

Task<> listen_and_use(Channel channel, int from, int& uses) {
  const Use use(uses);
  co_await channel.receive(from, {});
}

// Some have started by then, and others wait for their turn.
TEST(AsyncEngine, NothingRefersToItsCallerThatWasGivenUp) {
  ThreadWorld world(2);
  std::string message;
  world.run([&](Transport& transport) {
    Communicator all(transport);
    const auto network = transport.start_engine({});
    network->give_up();  // of nothing, which nobody learns of
    if (transport.rank() == 0) {
      message = message_of([&] {
        network->wait(network->submit([&] {
          return listen(all.open({"listen", ""}), 1);
        }));
      });
      return;
    }
    int uses = 0;
    int made = 0;
    constexpr int kOperations = 500;
    for (int i = 0; i < kOperations; ++i) {
      network->submit([&] {
        ++made;
        return listen_and_use(all.open({"listen", ""}), 0, uses);
      });
    }
    network->give_up();
    EXPECT_EQ(uses, 0);
    EXPECT_EQ(made, kOperations);
  });
  EXPECT_THAT(message, HasSubstr("rank 1: left while operations"));
}

}  // namespace
}  // namespace weft::async_engine_test
