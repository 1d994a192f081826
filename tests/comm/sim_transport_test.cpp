#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/support/exchanges.h"

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/sim.h"
#include "weft/comm/transport/thread.h"

namespace weft::sim_transport_test {
namespace {

using test::add_up;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kLatency = 1e-3;
constexpr double kSecondsPerByte = 1e-6;

// Machines of `ranks` ranks, with a fast fabric inside.
Topology machines_of(int ranks, int machines) {
  return {{{ranks, kLatency / 8, kSecondsPerByte / 16},
           {machines, kLatency, kSecondsPerByte}}};
}
Topology flat(int ranks) { return {{{ranks, kLatency, kSecondsPerByte}}}; }

// Only sizes travel.
std::span<std::byte> nothing(std::size_t bytes) {
  return {static_cast<std::byte*>(nullptr), bytes};
}
SimWorldOptions sizes_only() { return {.carries_payload = false}; }

Task<> give(Channel channel, int from, int to, std::size_t bytes) {
  if (channel.rank() == from) {
    co_await channel.send(to, nothing(bytes));
  } else if (channel.rank() == to) {
    EXPECT_EQ(co_await channel.receive(from, nothing(bytes)), bytes);
  }
}

// Each of `pairs` sends once, all at the same time.
double time_of(Topology topology, std::size_t bytes,
               std::vector<std::pair<int, int>> pairs,
               SimWorldOptions options = sizes_only()) {
  SimWorld world(std::move(topology), options);
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    std::vector<Task<>> tasks;
    for (const auto& [from, to] : pairs) {
      tasks.push_back(give(all.open({"give", ""}), from, to, bytes));
    }
    co_await all_of(std::move(tasks));
  });
}

TEST(SimTransport, AMessageTakesLatencyAndBytes) {
  EXPECT_DOUBLE_EQ(time_of(flat(2), 5000, {{0, 1}}), 6e-3);
  EXPECT_DOUBLE_EQ(time_of(flat(2), 0, {{0, 1}}), 1e-3);
  EXPECT_DOUBLE_EQ(time_of(machines_of(2, 2), 16000, {{0, 1}}), 1.125e-3);
  EXPECT_DOUBLE_EQ(time_of(machines_of(2, 2), 16000, {{0, 2}}), 17e-3);
  EXPECT_EQ(time_of(flat(2), 5000, {{1, 1}}), 0);  // to itself
}

TEST(SimTransport, RanksThatShareACardTakeTurns) {
  // Different machines, both directions: nothing is shared.
  EXPECT_DOUBLE_EQ(time_of(machines_of(2, 4), 5000, {{0, 2}, {4, 6}, {2, 0}}),
                   6e-3);
  EXPECT_DOUBLE_EQ(time_of(machines_of(2, 4), 5000, {{0, 2}, {1, 4}}), 11e-3);
  EXPECT_DOUBLE_EQ(time_of(machines_of(2, 4), 5000, {{0, 4}, {2, 5}}), 11e-3);
}

// What a rank sends in part to the next, and when it is over there.
struct LossyOutcome {
  PartMap came;
  std::vector<int> values;
  double seconds = 0;
};

LossyOutcome pass_lossy(const SimWorldOptions& options, std::size_t size) {
  LossyOutcome outcome;
  outcome.values.resize(size, -1);
  SimWorld world(flat(2), options);
  outcome.seconds = world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"pass", ""});
    std::vector<int> sent(size);
    std::iota(sent.begin(), sent.end(), 1);
    if (channel.rank() == 0) {
      Transfer out = channel.send_lossy(1, std::as_bytes(std::span(sent)));
      co_await out;
    } else {
      Transfer in = channel.receive_lossy(
          0, std::as_writable_bytes(std::span(outcome.values)), outcome.came);
      co_await in;
    }
  });
  return outcome;
}

TEST(SimTransport, LosesPartsOfWhatMayArriveInPart) {
  constexpr std::size_t kSize = 100'000;
  const LossyOutcome whole = pass_lossy({}, kSize);
  EXPECT_TRUE(whole.came.is_complete());
  const SimWorldOptions bad{.loss = 0.1, .silence = 5e-3, .seed = 3};
  const LossyOutcome outcome = pass_lossy(bad, kSize);
  const PartMap& came = outcome.came;
  EXPECT_GT(came.came(), 0.8 * static_cast<double>(came.parts()));
  EXPECT_LT(came.came(), 0.97 * static_cast<double>(came.parts()));
  // Its receiver waits for more as long as it was told to.
  EXPECT_NEAR(outcome.seconds, whole.seconds + 5e-3, 1e-9);
  for (std::size_t i = 0; i < kSize; ++i) {
    const bool is_there = came.has(i * sizeof(int) / PartMap::kPartBytes);
    EXPECT_EQ(outcome.values[i], is_there ? static_cast<int>(i) + 1 : 0);
  }
  // The same is lost each time.
  EXPECT_EQ(pass_lossy(bad, kSize).values, outcome.values);
}

// Equation 30 of Padhye et al. was worked out by hand for 10 % of segments of
// 1,448 bytes, a round trip of 2 ms and one segment, and a timeout of 200 ms:
// 3.448e-3 sqrt(0.4 / 3) + 0.2 * 3 sqrt(0.075) * 0.1 * 1.32 = 22.95 ms each.
TEST(SimTransport, TcpIsSlowedDownByLosses) {
  SimWorldOptions options = sizes_only();
  options.loss = 0.1;
  options.tcp_timeout = 0.2;
  EXPECT_NEAR(time_of(flat(2), 14480, {{0, 1}}, options), 0.2295, 1e-4);
  // Messages of one rank to another stand in a line, others do not.
  EXPECT_NEAR(time_of(flat(2), 14480, {{0, 1}, {0, 1}}, options), 0.4590, 2e-4);
  EXPECT_NEAR(time_of(flat(3), 14480, {{0, 1}, {2, 1}}, options), 0.2295, 1e-4);
  options.loss = 0;
  EXPECT_DOUBLE_EQ(time_of(flat(2), 14480, {{0, 1}}, options), 15.48e-3);
}

// 1 MB/s behind a bucket of 4,000 bytes: what finds no token waits for it, and
// the bucket fills while nothing is sent.
TEST(SimTransport, ATokenBucketLetsABurstThrough) {
  SimWorldOptions options = sizes_only();
  options.burst_bytes = 4000;
  EXPECT_DOUBLE_EQ(time_of(flat(2), 4000, {{0, 1}}, options), 1e-3);
  EXPECT_DOUBLE_EQ(time_of(flat(2), 5000, {{0, 1}}, options), 2e-3);
  EXPECT_DOUBLE_EQ(time_of(flat(2), 5000, {{0, 1}, {0, 1}}, options), 7e-3);
  EXPECT_DOUBLE_EQ(time_of(flat(3), 5000, {{0, 1}, {2, 1}}, options), 3e-3);
}

TEST(SimTransport, ABusyReceiverKeepsNoSenderWaiting) {
  SimWorld world(flat(3), sizes_only());
  std::vector<double> sent(3);
  double seconds = world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"give", ""});
    const int rank = channel.rank();
    if (rank < 2) {
      co_await channel.send(2, nothing(rank == 0 ? 10000 : 5000));
      sent[static_cast<std::size_t>(rank)] = transport.now();
    } else {
      co_await channel.receive(0, nothing(10000));
      co_await channel.receive(1, nothing(5000));
    }
  });
  EXPECT_DOUBLE_EQ(sent[0], 10e-3);
  EXPECT_DOUBLE_EQ(sent[1], 5e-3);
  EXPECT_DOUBLE_EQ(seconds, 16e-3);
}

TEST(SimTransport, MessagesOfAFlowKeepTheirOrder) {
  constexpr int kMessages = 50;
  SimWorld world(flat(2), {.loss = 0.3, .most_delay = 0.1, .seed = 3});
  std::vector<int> numbers;
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"count", ""});
    for (int i = 0; i < kMessages; ++i) {
      int number = i;
      const auto bytes = std::as_writable_bytes(std::span(&number, 1));
      if (channel.rank() == 0) {
        co_await channel.send(1, bytes);
      } else {
        co_await channel.receive(0, bytes);
        numbers.push_back(number);
      }
    }
  });
  std::vector<int> expected(kMessages);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(numbers, expected);
  EXPECT_EQ(world.traffic(0)[0].messages, kMessages);
  EXPECT_EQ(world.traffic(0)[0].bytes, 4 * kMessages);
  EXPECT_GT(world.traffic(0)[0].lost, 0);
}

TEST(SimTransport, ALostMessageIsSentAgain) {
  const SimWorldOptions lossy{.carries_payload = false,
                              .loss = 0.5,
                              .retransmit_after = 0.25,
                              .seed = 1};
  SimWorld world(flat(2), lossy);
  const double seconds = world.run([](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"give", ""});
    co_await give(channel, 0, 1, 5000);
  });
  const auto lost = static_cast<double>(world.traffic(0)[0].lost);
  EXPECT_NEAR(seconds, 6e-3 + lost * (0.25 + 6e-3), 1e-12);
  EXPECT_EQ(world.traffic(0)[0].messages, 1);
  EXPECT_THAT(world.traffic(1), ElementsAre(SimTraffic{}));
}

TEST(SimTransport, UrgentMessagesGoFirstWhereCardsLetThem) {
  const auto end_of_urgent = [](Queueing queueing) {
    SimWorld world(
        flat(2),
        {.carries_payload = false, .queueing = queueing, .slice_bytes = 1000});
    double end = 0;
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      std::vector<Task<>> tasks;
      for (int i = 0; i < 3; ++i) {
        tasks.push_back(give(all.open({"big", "", 0}), 0, 1, 10000));
      }
      const auto late = [](Channel channel, double* over) -> Task<> {
        co_await channel.pause(2.5e-3);
        co_await give(channel, 0, 1, 1000);
        *over = channel.transport().now();
      };
      double over = 0;
      tasks.push_back(late(all.open({"urgent", "", 1}), &over));
      co_await all_of(std::move(tasks));
      if (transport.rank() == 1) end = over;
    });
    return end;
  };
  EXPECT_NEAR(end_of_urgent(Queueing::kFirstCome), 32e-3, 1e-12);
  EXPECT_NEAR(end_of_urgent(Queueing::kPriority), 12e-3, 1e-12);
  EXPECT_NEAR(end_of_urgent(Queueing::kSliced), 5e-3, 1e-12);
}

TEST(SimTransport, ComputingTakesTimeOneAfterTheOther) {
  SimWorld world(flat(1), {.compute_speed = 2});
  const double seconds = world.run([](Transport& transport) -> Task<> {
    Communicator all(transport);
    const auto compute = [](Channel channel) -> Task<> {
      co_await channel.pause(3);
    };
    std::vector<Task<>> tasks;
    tasks.push_back(compute(all.open({"a", ""})));
    tasks.push_back(compute(all.open({"b", ""})));
    co_await all_of(std::move(tasks));
  });
  EXPECT_DOUBLE_EQ(seconds, 3);
  EXPECT_DOUBLE_EQ(world.computing_seconds(0), 3);
}

// A token goes round twice: nobody passes before all have arrived.
Task<> ring_barrier(Channel channel) {
  const int next = (channel.rank() + 1) % channel.size();
  const int previous = (channel.rank() + channel.size() - 1) % channel.size();
  for (int round = 0; round < 2; ++round) {
    if (channel.rank() > 0) co_await channel.receive(previous, nothing(0));
    co_await channel.send(next, nothing(0));
    if (channel.rank() == 0) co_await channel.receive(previous, nothing(0));
  }
}

TEST(SimTransport, AThousandRanksPassATokenRound) {
  SimWorld world(flat(1024), sizes_only());
  const double seconds = world.run([](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"barrier", ""});
    co_await ring_barrier(channel);
  });
  EXPECT_NEAR(seconds, 2 * 1024 * kLatency, 1e-9);
  for (int rank = 0; rank < 1024; ++rank) {
    EXPECT_EQ(world.traffic(rank)[0].messages, 2);
  }
}

// The code that MPI runs, on a thousand ranks and more.
TEST(SimTransport, AThousandRanksAddUp) {
  constexpr int kRanks = 1024;
  const Topology topology{{{4, 1e-6, 1e-10}, {256, 5e-6, 1e-9}}};
  for (const char* text : {"doubling", "rabenseifner",
                           "blueconnect([4, 256], "
                           "stage=[halving])"}) {
    SimWorld world(topology);
    std::vector<std::vector<std::int32_t>> values(kRanks);
    const AllReduce sum(text);
    world.run([&](Transport& transport) -> Task<> {
      auto& own = values[static_cast<std::size_t>(transport.rank())];
      own.assign(16, transport.rank());
      Communicator all(transport);
      co_await sum.run(all, dense(std::span(own)));
    });
    for (const auto& own : values) {
      ASSERT_EQ(own, std::vector<std::int32_t>(16, kRanks * (kRanks - 1) / 2))
          << text;
    }
  }
}

// The messages of a ring all-reduce of `bytes` in total.
Task<> ring_steps(Channel channel, std::size_t bytes) {
  const int ranks = channel.size();
  const std::size_t part = bytes / static_cast<std::size_t>(ranks);
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    Transfer sent = channel.send((channel.rank() + 1) % ranks, nothing(part));
    Transfer received =
        channel.receive((channel.rank() + ranks - 1) % ranks, nothing(part));
    co_await received;
    co_await sent;
  }
}

TEST(SimTransport, ARingTakesTheTimeOfItsModel) {
  constexpr int kRanks = 256;
  constexpr std::size_t kBytes = kRanks * 1000;
  SimWorld world(flat(kRanks), sizes_only());
  const double seconds = world.run([](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"ring", ""});
    co_await ring_steps(channel, kBytes);
  });
  const double model = 2 * (kRanks - 1) * (kLatency + 1000 * kSecondsPerByte);
  EXPECT_NEAR(seconds, model, 1e-9 * model);
}

// Neighbours on the ring are on different machines, whose 4 ranks share a card.
double ring_over_shared_cards(Queueing queueing, std::size_t bytes) {
  const Topology topology{{{4, 5e-6, 1 / 35e9}, {64, 5e-6, 1 / 10e9}}};
  SimWorld world(topology, {.carries_payload = false, .queueing = queueing});
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    std::vector<int> order;
    for (int i = 0; i < 256; ++i) order.push_back(i % 64 * 4 + i / 64);
    const Channel channel = all.open({"ring", ""}).among(order);
    co_await ring_steps(channel, bytes);
  });
}

// Shares of a card delay all 4 alike, so that each step ends with a latency;
// messages in turn hide each other's.
TEST(SimTransport, ARingOverSharedCardsTakesTheTimeOfItsModel) {
  constexpr double kSteps = 2 * 255;
  constexpr double kLatencyAcross = 5e-6;
  for (const std::size_t part : {1000, 390624}) {
    const double card = 4 * static_cast<double>(part) / 10e9;
    const double model = kSteps * (card + kLatencyAcross);
    EXPECT_NEAR(ring_over_shared_cards(Queueing::kFair, 256 * part), model,
                1e-9 * model);
    const double in_turn =
        ring_over_shared_cards(Queueing::kFirstCome, 256 * part);
    EXPECT_GE(in_turn, (1 - 1e-9) * kSteps * card);
    EXPECT_LT(in_turn, model);
  }
}

TEST(SimTransport, ADeadlockNamesWhoWaitsForWhat) {
  SimWorld world(flat(3), sizes_only());
  try {
    world.run([](Transport& transport) -> Task<> {
      Communicator all(transport);
      if (transport.rank() == 2) {
        all.open({"barrier", ""});
        co_return;
      }
      const int peer = 1 - transport.rank();
      const Channel channel = all.open(
          {"broadcast", transport.rank() == 0 ? "f32[9] 'a'" : "f32[9] 'b'"});
      co_await channel.receive(peer, nothing(36));
    });
    FAIL() << "the deadlock was not noticed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 of 3 ranks wait for ever"));
    EXPECT_THAT(error.what(),
                HasSubstr("rank 0: waiting to hear rank 1 36 bytes, in "
                          "broadcast of f32[9] 'a'"));
    EXPECT_THAT(error.what(),
                HasSubstr("rank 1 entered instead: broadcast of f32[9] 'b'"));
  }
}

TEST(SimTransport, AFailureEndsTheOthersAndIsThrownAgain) {
  SimWorld world(flat(3), sizes_only());
  std::vector<std::string> heard(3);
  try {
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const Channel channel = all.open({"wait", ""});
      if (transport.rank() == 1) {
        co_await channel.pause(1);
        throw Error(ErrorCode::kNumeric, "step 7", "the loss is nan");
      }
      try {
        co_await channel.receive(1, nothing(8));
      } catch (const Error& error) {
        heard[static_cast<std::size_t>(transport.rank())] = error.what();
        throw;
      }
    });
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
  }
  EXPECT_THAT(heard[0], HasSubstr("rank 1: step 7: the loss is nan"));
  EXPECT_THAT(heard[2], HasSubstr("rank 1: step 7: the loss is nan"));
}

// The buffer of a send that is over is its sender's, also while the message is
// on its way.
TEST(SimTransport, WhatIsSentIsWhatLayThereUntilTheSendWasOver) {
  for (const bool is_late : {false, true}) {
    SimWorld world(flat(2));
    int heard = 0;
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const Channel channel = all.open({"give", ""});
      int value = 7;
      const auto bytes = std::as_writable_bytes(std::span(&value, 1));
      if (transport.rank() == 0) {
        co_await channel.send(1, bytes);
        value = 8;
        co_await channel.pause(1);
      } else {
        if (is_late) co_await channel.pause(0.5);
        value = 0;
        co_await channel.receive(0, bytes);
        heard = value;
      }
    });
    EXPECT_EQ(heard, 7) << is_late;
  }
}

void add_ints(const std::byte* from, std::byte* into, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(int)) {
    int a = 0;
    int b = 0;
    std::memcpy(&a, from + i, sizeof(int));
    std::memcpy(&b, into + i, sizeof(int));
    b += a;
    std::memcpy(into + i, &b, sizeof(int));
  }
}

TEST(SimTransport, FoldsWhetherTheMessageOrItsReceiverIsFirst) {
  for (const double wait : {0.0, 0.5}) {
    SimWorld world(flat(2));
    std::vector<int> sum{1, 2, 3};
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const Channel channel = all.open({"add", ""});
      Transfers transfers(channel);
      std::vector<int> own{10, 20, 30};
      if (transport.rank() == 0) {
        transfers.send(1, std::as_bytes(std::span(own)));
      } else {
        co_await channel.pause(wait);
        EXPECT_TRUE(channel.can_fold(0, 12));
        transfers.fold(0, std::as_writable_bytes(std::span(sum)), add_ints);
      }
      co_await transfers.all();
    });
    EXPECT_THAT(sum, ElementsAre(11, 22, 33)) << wait;
  }
}

// As with MPI, where a receive that has its message cannot be cancelled.
TEST(SimTransport, AReceiveThatIsGivenUpTakesItsMessageAlong) {
  SimWorld world(flat(2));
  int heard = 0;
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"give", ""});
    if (transport.rank() == 0) {
      for (int value : {1, 2}) {
        co_await channel.send(1, std::as_bytes(std::span(&value, 1)));
      }
    } else {
      {
        int lost = 0;
        const Transfer given_up =
            channel.receive(0, std::as_writable_bytes(std::span(&lost, 1)));
        co_await channel.pause(kLatency / 2);
      }
      co_await channel.receive(0, std::as_writable_bytes(std::span(&heard, 1)));
    }
  });
  EXPECT_EQ(heard, 2);
}

TEST(SimTransport, AMessageLongerThanItsRoomIsAnError) {
  SimWorld world(flat(2), sizes_only());
  EXPECT_THROW(world.run([](Transport& transport) -> Task<> {
    Communicator all(transport);
    const Channel channel = all.open({"give", ""});
    if (transport.rank() == 0) {
      co_await channel.send(1, nothing(16));
    } else {
      co_await channel.receive(0, nothing(12));
    }
  }),
               Error);
}

Task<> add_up_often(Communicator all, std::vector<int>& values) {
  for (int i = 0; i < 5; ++i) {
    const Channel channel = all.open({"add_up", ""});
    co_await add_up(channel, values);
  }
}

std::vector<int> values_of(int rank) { return {rank, 10 * rank, 1}; }

TEST(SimTransport, TheSameTaskGivesTheSameDataAsOnThreads) {
  constexpr int kRanks = 6;
  std::vector<std::vector<int>> threads(kRanks);
  ThreadWorld(kRanks).run([&](Transport& transport) {
    auto& values = threads[static_cast<std::size_t>(transport.rank())];
    values = values_of(transport.rank());
    Engine(transport).run(add_up_often(Communicator(transport), values));
  });
  std::vector<std::vector<int>> simulated(kRanks);
  SimWorld world(machines_of(2, 3), {.most_delay = 0.01, .seed = 5});
  world.run([&](Transport& transport) -> Task<> {
    auto& values = simulated[static_cast<std::size_t>(transport.rank())];
    values = values_of(transport.rank());
    co_await add_up_often(Communicator(transport), values);
  });
  EXPECT_EQ(simulated, threads);
}

TEST(SimTransport, TheSeedAloneDecidesTheTimes) {
  const auto seconds = [](std::uint64_t seed) {
    SimWorld world(machines_of(2, 3),
                   {.loss = 0.1, .most_delay = 0.01, .seed = seed});
    return world.run([](Transport& transport) -> Task<> {
      std::vector<int> values = values_of(transport.rank());
      co_await add_up_often(Communicator(transport), values);
    });
  };
  EXPECT_EQ(seconds(1), seconds(1));
  EXPECT_NE(seconds(1), seconds(2));
}

TEST(SimTransport, EnginesOfOneThreadMoveTheWorld) {
  SimWorld world(flat(2));
  std::vector<std::vector<int>> values = {values_of(0), values_of(1)};
  Engine first(world.endpoint(0));
  Engine second(world.endpoint(1));
  const auto other = second.start(
      add_up(Communicator(world.endpoint(1)).open({"add_up", ""}), values[1]));
  first.run(
      add_up(Communicator(world.endpoint(0)).open({"add_up", ""}), values[0]));
  second.wait(other);
  EXPECT_EQ(values[0], (std::vector<int>{1, 10, 2}));
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NEAR(world.endpoint(0).now(), kLatency + 12 * kSecondsPerByte, 1e-12);
}

TEST(SimTransport, NoticesTellEnginesOfFailures) {
  SimWorld world(flat(2), sizes_only());
  Engine first(world.endpoint(0));
  Engine second(world.endpoint(1));
  const auto waits = [](Channel channel, int peer) -> Task<> {
    co_await channel.receive(peer, nothing(8));
  };
  const auto operation =
      first.start(waits(Communicator(world.endpoint(0)).open({"wait", ""}), 1));
  second.fail(Error(ErrorCode::kNumeric, "step 7", "the loss is nan"));
  try {
    first.wait(operation);
    FAIL() << "the notice was lost";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1: step 7: the loss is nan"));
  }
}

}  // namespace
}  // namespace weft::sim_transport_test
