#include <cmath>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/support/errors.h"

#include "weft/base/philox.h"
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/factorization.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/sim.h"
#include "weft/comm/transport/thread.h"

namespace weft::collective_all_reduce_test {
namespace {

using test::expect_error;

std::vector<std::string> algorithms(int ranks) {
  std::vector<std::string> texts = {"ring",
                                    "direct",
                                    "tree",
                                    "doubling",
                                    "rabenseifner",
                                    "rabenseifner(order=near)",
                                    "blueconnect(stage=[halving])",
                                    "blueconnect(stage=[direct], chunks=3)"};
  constexpr const char* kStages[] = {"direct", "halving", "ring"};
  for (const Factors& factors : ordered_factorizations(ranks)) {
    if (factors.empty()) continue;
    texts.push_back(fmt::format("blueconnect(factors={})", to_string(factors)));
    std::vector<std::string> stages;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      stages.emplace_back(kStages[i % 3]);
    }
    texts.push_back(fmt::format("blueconnect(factors={}, stage=[{}])",
                                to_string(factors), fmt::join(stages, ", ")));
    texts.push_back(fmt::format("leaders(group={})", factors.front()));
  }
  return texts;
}

Topology flat(int ranks) { return {{{ranks, 1e-6, 1e-9}}}; }

// What each rank holds after an all-reduce of its vector.
template <class T>
std::vector<std::vector<T>> sums_of(SimWorld& world, const std::string& text,
                                    std::vector<std::vector<T>> vectors) {
  const AllReduce all_reduce(text);
  world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    auto& mine = vectors[static_cast<std::size_t>(transport.rank())];
    co_await all_reduce.run(all, dense(std::span(mine)));
  });
  return vectors;
}

template <class T>
std::vector<std::vector<T>> random_vectors(int ranks, std::size_t count) {
  std::vector<std::vector<T>> vectors;
  for (int rank = 0; rank < ranks; ++rank) {
    const RandomStream random{17, static_cast<std::uint32_t>(rank), 0};
    std::vector<T>& vector = vectors.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = uniform_from(random.word(i)) - 0.5;
      vector[i] =
          std::is_integral_v<T> ? static_cast<T>(x * 1e6) : static_cast<T>(x);
    }
  }
  return vectors;
}

TEST(AllReduce, AddsIntegersExactlyWhateverTheAlgorithmRanksAndCount) {
  for (int ranks = 1; ranks <= 24; ++ranks) {
    const auto p = static_cast<std::size_t>(ranks);
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1, std::size_t{1000},
          std::size_t{257}}) {
      const auto vectors = random_vectors<std::int32_t>(ranks, count);
      std::vector<std::int32_t> sum(count);
      for (const auto& vector : vectors) {
        for (std::size_t i = 0; i < count; ++i) sum[i] += vector[i];
      }
      for (const std::string& text : algorithms(ranks)) {
        SimWorld world(flat(ranks), {.most_delay = 1e-5, .seed = p});
        for (const auto& result : sums_of(world, text, vectors)) {
          ASSERT_EQ(result, sum) << text << " of " << count << ", " << ranks;
        }
      }
    }
  }
}

TEST(AllReduce, AllRanksGetTheSameBitsWhateverTheDelays) {
  for (const int ranks : {2, 3, 6, 8, 12, 15}) {
    const auto vectors = random_vectors<float>(ranks, 1009);
    for (const std::string& text : algorithms(ranks)) {
      SimWorld punctual(flat(ranks));
      const auto expected = sums_of(punctual, text, vectors);
      double largest = 0;
      for (std::size_t i = 0; i < expected[0].size(); ++i) {
        double exact = 0;
        for (const auto& vector : vectors) exact += vector[i];
        largest = std::max(largest, std::abs(expected[0][i] - exact));
      }
      EXPECT_LT(largest, 1e-6 * ranks) << text;
      for (const auto& result : expected)
        ASSERT_EQ(result, expected[0]) << text;
      SimWorld late(flat(ranks), {.most_delay = 1e-3, .seed = 5});
      ASSERT_EQ(sums_of(late, text, vectors), expected) << text;
    }
  }
}

TEST(AllReduce, CutsLargeVectorsIntoSegments) {
  // More than two segments for each of three ranks, and a rest.
  const auto vectors =
      random_vectors<std::int64_t>(3, 9 * kSegmentBytes / 8 + 5);
  std::vector<std::int64_t> sum(vectors[0].size());
  for (const auto& vector : vectors) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
  }
  for (const std::string& text : algorithms(3)) {
    SimWorld world(flat(3), {.most_delay = 1e-5, .seed = 5});
    for (const auto& result : sums_of(world, text, vectors)) {
      ASSERT_TRUE(result == sum) << text;
    }
  }
}

TEST(AllReduce, AddsEveryFloatingType) {
  const auto run = [](auto one) {
    using T = decltype(one);
    // Sums that the type holds exactly, and more than one vector of lanes.
    std::vector<std::vector<T>> vectors(4, std::vector<T>(101));
    for (std::size_t r = 0; r < 4; ++r) {
      for (std::size_t i = 0; i < 101; ++i) {
        vectors[r][i] = T(static_cast<float>(r + i % 7) / 4);
      }
    }
    SimWorld world(flat(4));
    for (const auto& result : sums_of(world, "ring", vectors)) {
      for (std::size_t i = 0; i < 101; ++i) {
        ASSERT_EQ(static_cast<float>(result[i]),
                  static_cast<float>(6 + 4 * (i % 7)) / 4);
      }
    }
  };
  run(1.0F);
  run(1.0);
  run(float16(1.0F));
  run(bfloat16(1.0F));
}

// P = 6 = 3 x 2: rank r contributes r + 1 everywhere.
TEST(BlueConnect, HandCaseOfSixRanks) {
  std::vector<std::vector<std::int32_t>> vectors;
  for (int rank = 0; rank < 6; ++rank) vectors.emplace_back(6, rank + 1);
  SimWorld world(flat(6));
  for (const auto& result :
       sums_of(world, "blueconnect(factors=[3, 2])", vectors)) {
    EXPECT_EQ(result, std::vector<std::int32_t>(6, 21));
  }
}

struct Sent {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
  bool operator==(const Sent&) const = default;
};

// What each rank sends: all send the same.
Sent sent_by(const Topology& topology, const std::string& text,
             std::size_t count) {
  SimWorld world(topology, {.carries_payload = false, .compute_speed = 1e12});
  const AllReduce all_reduce(text);
  Sent result;
  result.seconds = world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    co_await all_reduce.run(all, {DType::kF32, nullptr, count});
  });
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    Sent sent;
    sent.seconds = result.seconds;
    for (const SimTraffic& traffic : world.traffic(rank)) {
      sent.messages += traffic.messages;
      sent.bytes += traffic.bytes;
    }
    if (rank == 0) result = sent;
    EXPECT_EQ(sent, result) << text << ", rank " << rank;
  }
  return result;
}

TEST(BlueConnect, SendsTheLeastBytesForEveryFactorization) {
  for (const int ranks : {2, 6, 8, 12, 16, 24}) {
    for (const Factors& factors : ordered_factorizations(ranks)) {
      const std::size_t count = 10 * static_cast<std::size_t>(ranks);
      const Sent sent = sent_by(
          flat(ranks),
          fmt::format("blueconnect(factors={})", to_string(factors)), count);
      int steps = 0;
      for (const int factor : factors) steps += factor - 1;
      EXPECT_EQ(sent.messages, 2 * steps) << to_string(factors);
      EXPECT_EQ(sent.bytes, 2 * 4 * 10 * (ranks - 1)) << to_string(factors);
    }
  }
}

TEST(BlueConnect, OneFactorIsTheRingAndTwosAreHalvingNearFirst) {
  const Topology machines = parse_topology("4@5us,35GB/s x 2@7us,10GB/s");
  EXPECT_EQ(sent_by(machines, "blueconnect(factors=[8])", 8000),
            sent_by(machines, "ring", 8000));
  EXPECT_EQ(sent_by(machines, "blueconnect(factors=[2, 2, 2])", 8000),
            sent_by(machines, "rabenseifner(order=near)", 8000));
}

double simulated_seconds(const Topology& topology, const std::string& text,
                         std::size_t count, double compute_speed) {
  SimWorld world(topology,
                 {.carries_payload = false, .compute_speed = compute_speed});
  const AllReduce all_reduce(text);
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    co_await all_reduce.run(all, {DType::kF32, nullptr, count});
  });
}

// One stage is that of all groups; else each has its own, those of one none.
TEST(BlueConnect, EachGroupHasAStageOfItsOwn) {
  const Topology machines = parse_topology("4@5us,35GB/s x 8@5us,10GB/s");
  const auto seconds = [&](const char* factors, const char* stages) {
    return simulated_seconds(
        machines,
        fmt::format("blueconnect(factors={}, stage={})", factors, stages), 32,
        1e12);
  };
  // Latencies of a way: 3 + 7 around rings; 1 + 3 where all of a machine send
  // at once and machines halve.
  EXPECT_NEAR(seconds("[4, 8]", "[ring]"), 20 * 5e-6, 1e-6);
  EXPECT_NEAR(seconds("[4, 8]", "[direct, halving]"), 8 * 5e-6, 1e-6);
  EXPECT_EQ(seconds("[4, 8]", "[ring]"), seconds("[4, 8]", "[ring, ring]"));
  EXPECT_EQ(seconds("[4, 8]", "[direct, halving]"),
            seconds("[4, 1, 8]", "[direct, ring, halving]"));
}

// The model takes steps in lockstep; ranks that need not wait run ahead.
TEST(AllReduceCost, BoundsTheSimulatedTime) {
  const Topology machines = parse_topology("4@5us,35GB/s x 8@5us,10GB/s");
  const auto expect_bounds = [&](const char* text, double compute_speed) {
    for (const std::size_t count : {8192u, 262144u}) {
      const double predicted =
          AllReduce(text).seconds(machines, 4.0 * static_cast<double>(count));
      const double simulated =
          simulated_seconds(machines, text, count, compute_speed);
      EXPECT_LT(simulated, 1.05 * predicted) << text << ", " << count;
      EXPECT_GT(simulated, 0.75 * predicted) << text << ", " << count;
    }
  };
  for (const char* text :
       {"ring", "rabenseifner", "rabenseifner(order=near)", "leaders(group=4)",
        "blueconnect(factors=[4, 8])", "blueconnect(factors=[4, 2, 4])",
        "blueconnect(factors=[4, 8], stage=[direct, halving])",
        "blueconnect(factors=[2, 2, 2, 2, 2])"}) {
    expect_bounds(text, 1e12);
  }
  // Whose price holds what they add.
  for (const char* text : {"doubling", "direct"}) expect_bounds(text, 1);
}

TEST(AllReduce, SeveralInFlightDoNotMix) {
  constexpr int kRanks = 4;
  constexpr int kOperations = 60;
  const char* texts[] = {
      "ring",     "rabenseifner",     "blueconnect(stage=[halving])",
      "doubling", "leaders(group=2)", "blueconnect(factors=[2, 2], chunks=3)"};
  for (const double delay : {0.0, 1e-3}) {
    ThreadWorld world(kRanks, {.most_delay = delay, .seed = 3});
    world.run([&](Transport& transport) {
      Engine engine(transport);
      Communicator all(transport);
      std::vector<std::vector<std::int32_t>> values;
      for (int i = 0; i < kOperations; ++i) {
        values.emplace_back(50, transport.rank() + i);
      }
      std::vector<Engine::Operation> operations;
      for (std::size_t i = 0; i < kOperations; ++i) {
        operations.push_back(engine.start(
            AllReduce(texts[i % 6]).run(all, dense(std::span(values[i])))));
      }
      for (std::size_t i = kOperations; i-- > 0;) engine.wait(operations[i]);
      for (int i = 0; i < kOperations; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)],
                  std::vector<std::int32_t>(50, 6 + 4 * i));
      }
    });
  }
}

TEST(AllReduce, OnePreparedIsRunAsOftenAsNeeded) {
  for (const char* text : {"direct", "doubling", "blueconnect(chunks=3)"}) {
    ThreadWorld world(4);
    world.run([&](Transport& transport) {
      Engine engine(transport);
      Communicator all(transport);
      const PreparedAllReduce prepared =
          AllReduce(text).prepare(all, DType::kF32, 10, "'conv1'");
      for (const float value : {0.0f, 1.0f, 2.0f}) {
        std::vector<float> values(10, value);
        engine.run(prepared.run(dense(std::span(values)).data));
        EXPECT_EQ(values, std::vector<float>(10, 4 * value)) << text;
      }
      // It is the same operation as one that is not prepared.
      std::vector<float> values(10, 1.0f);
      engine.run(
          transport.rank() == 0
              ? prepared.run(dense(std::span(values)).data)
              : AllReduce(text).run(all, dense(std::span(values)), "'conv1'"));
      EXPECT_EQ(values, std::vector<float>(10, 4.0f)) << text;
    });
  }
}

TEST(AllReduce, CountsThatDifferAreReported) {
  ThreadWorld world(2);
  expect_error(ErrorCode::kInvalidArgument,
               {"different operations", "f32[10] 'w'", "f32[11] 'w'"}, [&] {
                 world.run([](Transport& transport) {
                   Engine engine(transport, {.ask_after = 0.005});
                   Communicator all(transport);
                   std::vector<float> values(transport.rank() == 0 ? 10 : 11);
                   engine.run(AllReduce("ring").run(
                       all, dense(std::span(values)), "'w'"));
                 });
               });
}

TEST(AllReduce, RefusesWhatItCannotDo) {
  ThreadWorld world(6);
  Communicator all(world.endpoint(0));
  std::vector<float> values(10);
  const auto run = [&](const char* text) {
    (void)AllReduce(text).run(all, dense(std::span(values)));
  };
  expect_error(ErrorCode::kInvalidArgument, {"did you mean 'ring'"},
               [&] { run("rink"); });
  expect_error(ErrorCode::kInvalidArgument, {"factors"},
               [&] { run("blueconnect(factor=[2, 3])"); });
  for (const char* factors : {"[4, 2]", "[2]", "[99999, 99999, 99999]"}) {
    expect_error(ErrorCode::kUnsupported, {"the factors"}, [&] {
      run(fmt::format("blueconnect(factors={})", factors).c_str());
    });
  }
  // These are wrong wherever they would run, and refused as they are read.
  for (const char* factors : {"[0, 6]", "[-2, -3]", "[2,, 3]", "[2, 3,]", "[x]",
                              "2,3", "[2", "[2, x]", "[1048577]"}) {
    expect_error(ErrorCode::kInvalidArgument, {}, [&] {
      const AllReduce read(fmt::format("blueconnect({})", factors));
    });
  }
  expect_error(ErrorCode::kUnsupported, {"3 stages", "the factors are 2"},
               [&] { run("blueconnect([2, 3], stage=[ring, ring, ring])"); });
  expect_error(ErrorCode::kInvalidArgument,
               {"holds rings", "did you mean 'ring'"},
               [&] { run("blueconnect([2, 3], stage=[ring, rings])"); });
  EXPECT_EQ(AllReduce("blueconnect([2, 3], chunks=2)").text(),
            "blueconnect(factors=[2, 3], chunks=2)");
  expect_error(ErrorCode::kInvalidArgument, {"chunks"},
               [&] { run("blueconnect(chunks=0)"); });
  expect_error(ErrorCode::kUnsupported,
               {"declines 6 ranks, because they are not groups of 4"},
               [&] { run("leaders(group=4)"); });
  std::vector<std::int8_t> bytes(10);
  expect_error(
      ErrorCode::kUnsupported, {"declines i8, because it has no sums"},
      [&] { (void)AllReduce("ring").run(all, dense(std::span(bytes))); });
}

TEST(Factorization, OfOneIsDropped) {
  EXPECT_EQ(factors_of(std::vector<std::int64_t>{1, 2, 1, 3}), (Factors{2, 3}));
  EXPECT_EQ(ordered_factorizations(12).size(), 8u);
  EXPECT_EQ(
      compatible_factorizations(parse_topology("4@1us,1GB/s x 6@1us,1GB/s"))
          .size(),
      2u * 3u);
}

}  // namespace
}  // namespace weft::collective_all_reduce_test
