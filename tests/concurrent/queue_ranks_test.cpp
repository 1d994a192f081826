// The ranks of what a MultiQueue returns while many threads push and pop, from
// recorded histories. The threads run on a simulated machine, so that they
// interleave at every access, and alike in every run.
//
// A pop happened at some moment between its call and its return. Its rank then
// lies between the number of smaller keys that were there all the time, and of
// those that may have been there at some time in between.
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "weft/concurrent/coherence/simulated_memory.h"
#include "weft/concurrent/coherence/simulation.h"
#include "weft/concurrent/counter/cost_distribution.h"
#include "weft/concurrent/queue/multi_queue.h"

namespace weft::concurrent::queue_ranks_test {
namespace {

constexpr int kThreads = 8;
constexpr int kQueues = 4 * kThreads;
constexpr std::uint32_t kResident = 1000;
constexpr std::uint32_t kSteps = 800;  // of each thread
constexpr double kLevel = 1e-4;
// Ranks of one run depend on each other, which the test of two samples does not
// know: ranks of several runs are compared as if they were of one.
constexpr std::uint64_t kRuns = 4;

using Stamp = std::uint64_t;
constexpr Stamp kNever = std::numeric_limits<Stamp>::max();

// When a key went in and came out.
struct Stay {
  Stamp push_called = 0;
  Stamp push_returned = 0;
  Stamp pop_called = kNever;
  Stamp pop_returned = kNever;
};

struct RankBounds {
  CostDistribution lowest;
  CostDistribution highest;
};

void add_rank_bounds(const std::vector<Stay>& stays,
                     std::vector<double>& lowest,
                     std::vector<double>& highest) {
  for (std::size_t key = 0; key < stays.size(); ++key) {
    const Stay& popped = stays[key];
    if (popped.pop_called == kNever) continue;
    int certain = 0;
    int possible = 0;
    for (std::size_t other = 0; other < key; ++other) {
      const Stay& stay = stays[other];
      certain += static_cast<int>(stay.push_returned < popped.pop_called &&
                                  stay.pop_called > popped.pop_returned);
      possible += static_cast<int>(stay.push_called < popped.pop_returned &&
                                   stay.pop_returned > popped.pop_called);
    }
    lowest.push_back(certain);
    highest.push_back(possible);
  }
}

// Each thread pops and pushes a larger key, in turns.
std::vector<Stay> run(int threads, int choices, std::uint64_t seed) {
  MultiQueue<std::uint32_t, Nothing, SimulatedMemory> queue(
      {.queues = kQueues, .stickiness = 1, .choices = choices, .seed = seed});
  std::vector<Stay> stays;
  Stamp clock = 0;
  const auto push = [&](auto& handle) {
    const std::size_t key = stays.size();
    stays.push_back({.push_called = clock++});
    handle.push({static_cast<std::uint32_t>(key)});
    stays[key].push_returned = clock++;
  };
  {
    auto handle = queue.handle(threads);
    for (std::uint32_t i = 0; i < kResident; ++i) push(handle);
  }
  Simulation simulation({.cores = threads});
  simulation.run(threads, [&](int thread) {
    auto handle = queue.handle(thread);
    for (std::uint32_t i = 0; i < kThreads * kSteps / threads; ++i) {
      const Stamp called = clock++;
      const auto entry = handle.pop();
      ASSERT_TRUE(entry);
      stays[entry->key].pop_called = called;
      stays[entry->key].pop_returned = clock++;
      push(handle);
    }
  });
  return stays;
}

RankBounds ranks_of(int threads, int choices) {
  std::vector<double> lowest;
  std::vector<double> highest;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    add_rank_bounds(run(threads, choices, seed), lowest, highest);
  }
  return {CostDistribution(std::move(lowest)),
          CostDistribution(std::move(highest))};
}

double threshold_of(const RankBounds& first, const RankBounds& second) {
  return distance_threshold(first.lowest.size() / kRuns,
                            second.lowest.size() / kRuns, kLevel);
}

double tail(const CostDistribution& ranks, int least) {
  return 1 - ranks.at_most(least - 1);
}

TEST(QueueRanks, AloneTheBoundsMeet) {
  const RankBounds ranks = ranks_of(1, 2);
  EXPECT_EQ(ranks.lowest.distance_to(ranks.highest), 0);
}

// The contract of relaxed_queue.h, as for one thread in multi_queue_test.cpp.
TEST(QueueRanks, OfThreadsHaveExponentialTails) {
  const RankBounds ranks = ranks_of(kThreads, 2);
  const double k = 3 * kQueues * (1 + std::log(kQueues));
  for (int least = 1; least <= ranks.highest.most(); ++least)
    ASSERT_LE(tail(ranks.highest, least), std::exp(-least / k)) << least;
}

// Distributional linearizability: some order of the operations makes the ranks
// those of one thread, as far as samples of this size can tell.
TEST(QueueRanks, OfThreadsAreThoseOfTheSequentialProcess) {
  const RankBounds ranks = ranks_of(kThreads, 2);
  const RankBounds process = ranks_of(1, 2);
  const double threshold = threshold_of(ranks, process);
  EXPECT_LT(ranks.lowest.excess_over(process.lowest), threshold);
  EXPECT_LT(process.lowest.excess_over(ranks.highest), threshold);
  // Threads do overlap, so there is something to bound.
  EXPECT_GT(ranks.highest.mean(), ranks.lowest.mean());
}

TEST(QueueRanks, OfOneChoiceAreNot) {
  const RankBounds ranks = ranks_of(kThreads, 1);
  const RankBounds process = ranks_of(1, 2);
  EXPECT_GT(ranks.lowest.excess_over(process.lowest),
            5 * threshold_of(ranks, process));
}

}  // namespace
}  // namespace weft::concurrent::queue_ranks_test
