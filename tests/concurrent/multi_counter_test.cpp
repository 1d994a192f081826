#include "weft/concurrent/counter/multi_counter.h"

#include <array>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>

#include "weft/concurrent/coherence/explorer.h"
#include "weft/concurrent/coherence/simulated_memory.h"
#include "weft/concurrent/counter/exact_counters.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::multi_counter_test {
namespace {

TEST(MultiCounter, WithOneCellIsExact) {
  MultiCounter<> counter(1);
  FastRandom random(1, 0);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    EXPECT_EQ(counter.increment(random), i);
    EXPECT_EQ(counter.read(random), i);
  }
}

TEST(MultiCounter, ReadsAreMultiplesOfTheNumberOfCells) {
  MultiCounter<> counter(24);
  FastRandom random(2, 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(counter.increment(random) % 24, 0U);
    EXPECT_EQ(counter.read(random) % 24, 0U);
  }
  EXPECT_EQ(counter.exact(), 1000U);
}

// With two cells, both drawn independently, the fuller one is chosen with
// probability 1/4: the difference is a birth-death chain with a known law.
TEST(MultiCounter, TwoCellsDifferByTheLawOfTheirChain) {
  MultiCounter<> counter(2);
  FastRandom random(3, 0);
  constexpr int kSteps = 400000;
  std::array<int, 4> seen{};
  for (int i = 0; i < kSteps; ++i) {
    counter.increment(random);
    if (const std::uint64_t gap = counter.gap(); gap < seen.size()) ++seen[gap];
  }
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const double expected =
        k == 0 ? 1.0 / 3 : 4.0 / 9 * std::pow(1.0 / 3, double(k) - 1);
    EXPECT_NEAR(double(seen[k]) / kSteps, expected, 0.006) << k;
  }
}

TEST(MultiCounter, LosesNothingUnderThreads) {
  constexpr std::uint32_t kCells = 32;
  constexpr std::uint64_t kEach = 100000;
  MultiCounter<> counter(kCells);
  std::atomic<std::uint64_t> highest = 0;
  run_threads(4, [&](int thread) {
    FastRandom random(4, std::uint64_t(thread));
    std::uint64_t seen = 0;
    for (std::uint64_t i = 0; i < kEach; ++i) {
      seen = std::max(seen, counter.increment(random));
      if (i % 16 == 0) seen = std::max(seen, counter.read(random));
    }
    highest.store(std::max(highest.load(), seen));
  });
  EXPECT_EQ(counter.exact(), 4 * kEach);
  EXPECT_LE(counter.gap(), 4 * 5 + 8);  // 4 log2 m + 8
  EXPECT_LE(highest.load(), 4 * kEach + std::uint64_t{12} * kCells);
}

// Two threads that look while the other adds: nothing is lost in any order, and
// what was seen a moment ago costs a cell at most what was under way.
struct AddBoth : Program {
  static constexpr std::uint64_t kEach = 2;
  void run(int thread) override {
    FastRandom random(8, static_cast<std::uint64_t>(thread));
    for (std::uint64_t i = 0; i < kEach; ++i) {
      const std::uint64_t read = counter.increment(random);
      require(read % 2 == 0 && read <= 2 * 2 * kEach, "a read that never was");
    }
  }
  void check() override {
    require(counter.exact() == 2 * kEach, "an increment is lost");
    require(counter.gap() <= kEach,
            "the cells are further apart than what "
            "was under way at once");
  }
  MultiCounter<SimulatedMemory> counter{2};
};

TEST(MultiCounter, LosesNothingInAnyOrder) {
  const Exploration found =
      explore(2, [] { return std::make_unique<AddBoth>(); });
  EXPECT_EQ(found.failure, "") << found.describe();
  EXPECT_TRUE(found.is_complete);
  EXPECT_GT(found.executions, 10U);
}

// The control: without the second look the cells drift apart.
TEST(MultiCounter, OneChoiceDriftsApart) {
  constexpr std::uint64_t kCount = 400000;
  OneChoiceCounter<> one(64);
  MultiCounter<> two(64);
  FastRandom random(5, 0);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    one.increment(random);
    two.increment(random);
  }
  EXPECT_EQ(one.exact(), kCount);
  EXPECT_GT(one.gap(), 200U);
  EXPECT_LE(two.gap(), 4 * 6 + 8);
}

TEST(MultiCounter, AddsWeights) {
  MultiCounter<> counter(8);
  FastRandom random(6, 0);
  for (std::uint32_t i = 1; i <= 1000; ++i) counter.add(random, i);
  EXPECT_EQ(counter.exact(), 500500U);
  EXPECT_LE(counter.gap(), 28 * 1000U);
  EXPECT_THROW(counter.add(random, MultiCounter<>::kMostWeight + 1), Error);
  EXPECT_EQ(counter.exact(), 500500U);
}

TEST(MultiCounter, GoesOnFromATotal) {
  MultiCounter<> counter(7, 1000);
  EXPECT_EQ(counter.exact(), 1000U);
  EXPECT_LE(counter.gap(), 1U);
}

TEST(MultiCounter, RefusesToOverflow) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 63U) - 1;
  MultiCounter<> counter(2, kMost);
  FastRandom random(7, 0);
  EXPECT_THROW(counter.increment(random), Error);
  EXPECT_EQ(counter.exact(), kMost);
}

TEST(MultiCounter, RefusesABadNumberOfCells) {
  EXPECT_THROW(MultiCounter<>(0), Error);
  EXPECT_THROW(MultiCounter<>(MultiCounter<>::kMostCells + 1), Error);
  EXPECT_THROW(ShardedCounter<>(0), Error);
}

TEST(ExactCounters, CountUnderThreads) {
  FetchAddCounter<> single;
  ShardedCounter<> sharded(3);
  run_threads(4, [&](int thread) {
    for (int i = 0; i < 20000; ++i) {
      single.add();
      sharded.add(std::uint32_t(thread), 2);
    }
  });
  EXPECT_EQ(single.read(), 80000U);
  EXPECT_EQ(sharded.read(), 160000U);
}

}  // namespace
}  // namespace weft::concurrent::multi_counter_test
