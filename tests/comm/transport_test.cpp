// What transport.h promises, held against every transport of the registry that
// can be had in one process: a new one is held to it by being there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/errors.h"
#include "tests/support/transport_checks.h"

#include "weft/base/philox.h"
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/transport/transport_def.h"

namespace weft::transport_test {
namespace {

using test::expect_error;
using test::message_of;
using testing::HasSubstr;

constexpr int kRanks = 4;

std::vector<std::string> sampled() {
  std::vector<std::string> names;
  for (const TransportDef& def : transport_registry().all()) {
    if (def.sample != nullptr) names.push_back(def.name);
  }
  return names;
}

class Transports : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<LocalRanks> ranks(int count) {
    return transport_registry().get(GetParam()).sample(count);
  }
  // What each rank's `check` has thrown.
  static std::vector<std::string> messages_of(void (*check)(Transport&)) {
    std::vector<std::string> messages(kRanks);
    ranks(kRanks)->run([&](Transport& transport) {
      messages[static_cast<std::size_t>(transport.rank())] =
          message_of([&] { check(transport); });
    });
    return messages;
  }
};

TEST_P(Transports, SayWhoTheyAre) {
  const auto local = ranks(kRanks);
  EXPECT_EQ(local->first(), 0);
  EXPECT_EQ(local->count(), kRanks);
  EXPECT_EQ(local->size(), kRanks);
  std::vector<int> seen(kRanks);
  local->run([&](Transport& transport) {
    EXPECT_EQ(transport.size(), kRanks);
    EXPECT_FALSE(transport.host(transport.rank()).empty());
    EXPECT_FALSE(transport.is_simulated());
    ++seen[static_cast<std::size_t>(transport.rank())];
  });
  EXPECT_EQ(seen, std::vector<int>(kRanks, 1));
}

TEST_P(Transports, CarryManyMessagesInFlight) {
  ranks(kRanks)->run(test::check_sums);
}

TEST_P(Transports, KeepGroupsApart) { ranks(kRanks)->run(test::check_groups); }

// None of them loses anything unless it is told to.
TEST_P(Transports, CarryMessagesThatMayArriveInPartWhole) {
  ranks(kRanks)->run(test::check_lossy_messages);
}

TEST_P(Transports, CarryMessagesToOneself) {
  ranks(kRanks)->run(test::check_own_messages);
}

TEST_P(Transports, KeepTheOrderOfSmallAndLargeMessages) {
  ranks(kRanks)->run(test::check_order);
}

TEST_P(Transports, RunOnAThreadOfTheirOwn) {
  ranks(kRanks)->run(test::check_async);
}

TEST_P(Transports, RefuseAMessageThatIsLongerThanItsRoom) {
  std::string all;
  for (const std::string& each : messages_of(test::check_truncation)) {
    all += each;
  }
  EXPECT_THAT(all, HasSubstr("16 bytes from rank 0 is longer than the 12"));
  EXPECT_THAT(all, HasSubstr("give of i32[3] 'b'"));
}

TEST_P(Transports, TellBothSidesOfAMismatch) {
  for (const std::string& each : messages_of(test::check_mismatch)) {
    EXPECT_THAT(each, HasSubstr("different operations"));
    EXPECT_THAT(each, HasSubstr("rank 2: add_up of f32[10] 'b'"));
  }
}

TEST_P(Transports, TellAllRanksWhyOneFails) {
  for (const std::string& each : messages_of(test::check_failure)) {
    EXPECT_THAT(each, HasSubstr("step 7: the loss is nan"));
  }
}

TEST_P(Transports, NameTheRankThatLeftAndWhatWaitedForIt) {
  const auto hear_from_the_last = [](Transport& transport) {
    if (transport.rank() == kRanks - 1) {
      throw Error(ErrorCode::kInternal, "test", "leaves");
    }
    Engine engine(transport);
    Communicator all(transport);
    std::vector<int> values(10);
    engine.run(test::hear(all.open({"broadcast", "i32[10] 'conv1'"}),
                          kRanks - 1, values));
  };
  std::vector<std::string> messages(kRanks);
  message_of([&] {
    ranks(kRanks)->run([&](Transport& transport) {
      auto& message = messages[static_cast<std::size_t>(transport.rank())];
      message = message_of([&] { hear_from_the_last(transport); });
      throw Error(ErrorCode::kInternal, "test", "leaves");
    });
  });
  for (int rank = 0; rank + 1 < kRanks; ++rank) {
    EXPECT_THAT(messages[static_cast<std::size_t>(rank)], HasSubstr("rank 3"));
  }
}

// What each of the ranks holds after an all-reduce of other values.
std::vector<std::vector<float>> sums(LocalRanks& ranks, const std::string& text,
                                     std::size_t count) {
  std::vector<std::vector<float>> results(
      static_cast<std::size_t>(ranks.size()));
  ranks.run([&](Transport& transport) {
    const auto rank = static_cast<std::uint32_t>(transport.rank());
    const RandomStream random{29, rank, 0};
    std::vector<float>& mine = results[rank];
    for (std::size_t i = 0; i < count; ++i) {
      mine.push_back(static_cast<float>(uniform_from(random.word(i)) - 0.5));
    }
    Engine engine(transport);
    Communicator all(transport);
    engine.run(AllReduce(text).run(all, dense(std::span(mine))));
  });
  return results;
}

TEST_P(Transports, AddUpToTheSameBits) {
  for (const std::string text :
       {"ring", "direct", "doubling", "rabenseifner", "blueconnect"}) {
    for (const std::size_t count : {std::size_t{7}, std::size_t{300'001}}) {
      EXPECT_EQ(sums(*ranks(kRanks), text, count),
                sums(*thread_ranks(kRanks), text, count))
          << text << " of " << count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Transports, testing::ValuesIn(sampled()),
                         [](const auto& info) { return info.param; });

TEST(TransportRegistry, SaysWhomEachTrusts) {
  for (const TransportDef& def : transport_registry().all()) {
    EXPECT_FALSE(def.summary.empty()) << def.name;
    EXPECT_TRUE(def.trust.starts_with("Trusts ")) << def.name;
    EXPECT_NE(def.open, nullptr) << def.name;
  }
  for (const char* name : {"mpi", "tcp", "thread"}) {
    EXPECT_NE(transport_registry().find(name), nullptr) << name;
  }
}

void open(const std::string& text) {
  open_transport(parse_call(text, transport_registry(), "--transport"),
                 [](const std::string&) {});
}

TEST(TransportRegistry, SaysWhyATransportDeclines) {
  expect_error(ErrorCode::kInvalidArgument, {"did you mean 'tcp'?"},
               [] { open("tcpp(rank=1)"); });
  expect_error(
      ErrorCode::kInvalidArgument,
      {"'mpi' declines this process, because no launcher", "hint: mpirun -n 4"},
      [] { open("mpi"); });
  expect_error(ErrorCode::kInvalidArgument,
               {"'tcp' declines rank 4 of 4", "rank=0 to rank=3"},
               [] { open("tcp(127.0.0.1:7070, rank=4, ranks=4)"); });
  expect_error(ErrorCode::kInvalidArgument, {"has no port"},
               [] { open("tcp(first=localhost)"); });
}

TEST(TransportRegistry, NeedsAKeyWhereOthersReachTheAddress) {
  const test::EnvironmentValue none("WEFT_KEY", nullptr);
  for (const std::string address :
       {"10.0.0.1:7070", "0.0.0.0:7070", "\"[2001:db8::1]:7070\""}) {
    expect_error(ErrorCode::kInvalidArgument,
                 {"'tcp' declines", "without a key whoever reaches",
                  "key=./run.key", "127.0.0.1"},
                 [&] { open(fmt::format("tcp({}, rank=1)", address)); });
  }
  const test::EnvironmentValue small("WEFT_KEY", "too short");
  expect_error(ErrorCode::kInvalidArgument, {"WEFT_KEY: the key has 9 bytes"},
               [] { open("tcp(10.0.0.1:7070, rank=1)"); });
}

}  // namespace
}  // namespace weft::transport_test
