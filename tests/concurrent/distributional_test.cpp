// Whether the costs of a counter's reads are distributed as those of the
// sequential process.
#include <atomic>
#include <gtest/gtest.h>

#include "weft/base/error.h"
#include "weft/concurrent/counter/history.h"
#include "weft/concurrent/counter/multi_counter.h"
#include "weft/concurrent/counter/two_choice_process.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::distributional_test {
namespace {

using Kind = CounterOperation::Kind;

constexpr std::uint32_t kCells = 16;
constexpr std::uint64_t kReadEvery = 101;

// Each operation takes two stamps of a clock that all threads share.
template <class Counter>
std::vector<CounterOperation> record(Counter& counter, int threads,
                                     std::uint64_t increments) {
  std::atomic<std::uint64_t> clock = 0;
  std::vector<std::vector<CounterOperation>> of_thread(
      static_cast<std::size_t>(threads));
  run_threads(threads, [&](int thread) {
    FastRandom random(11, std::uint64_t(thread));
    auto& history = of_thread[std::size_t(thread)];
    for (std::uint64_t i = 1; i <= increments; ++i) {
      CounterOperation add;
      add.called = clock.fetch_add(1);
      counter.increment(random);
      add.returned = clock.fetch_add(1);
      history.push_back(add);
      if (i % kReadEvery != 0) continue;
      CounterOperation read{.kind = Kind::kRead};
      read.called = clock.fetch_add(1);
      read.answer = counter.read(random);
      read.returned = clock.fetch_add(1);
      history.push_back(read);
    }
  });
  std::vector<CounterOperation> all;
  for (const auto& part : of_thread)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

CostDistribution process_costs(std::uint32_t staleness) {
  return CostDistribution(
      run_process({.cells = kCells, .staleness = staleness, .seed = 99}, 600000,
                  kReadEvery)
          .costs);
}

TEST(Distributional, AloneTheCounterIsTheProcess) {
  MultiCounter<> counter(kCells);
  const CostBounds costs = read_costs(record(counter, 1, 400000));
  const CostDistribution process = process_costs(1);
  EXPECT_EQ(costs.lowest.distance_to(costs.highest), 0);
  EXPECT_LT(costs.lowest.distance_to(process),
            distance_threshold(costs.lowest.size(), process.size(), 1e-4));
}

TEST(Distributional, OneChoiceIsNotTheProcess) {
  OneChoiceCounter<> counter(kCells);
  const CostBounds costs = read_costs(record(counter, 1, 400000));
  const CostDistribution process = process_costs(1);
  EXPECT_GT(costs.lowest.distance_to(process),
            5 * distance_threshold(costs.lowest.size(), process.size(), 1e-4));
}

TEST(Distributional, ThreadsStayBetweenFreshAndStaleChoices) {
  MultiCounter<> counter(kCells);
  const CostBounds costs = read_costs(record(counter, 4, 60000));
  const CostDistribution fresh = process_costs(1);
  const CostDistribution stale = process_costs(4 * 4);
  const double threshold =
      distance_threshold(costs.lowest.size(), fresh.size(), 1e-4);
  EXPECT_LT(costs.lowest.excess_over(stale), threshold);
  EXPECT_LT(fresh.excess_over(costs.highest), threshold);
}

TEST(Distributional, BoundsOfAnOverlappedReadByHand) {
  // One increment before the read, one around it, one after.
  const std::vector<CounterOperation> history = {
      {Kind::kIncrement, 0, 0, 1},
      {Kind::kIncrement, 0, 2, 5},
      {Kind::kRead, 4, 3, 4},
      {Kind::kIncrement, 0, 6, 7},
  };
  const CostBounds costs = read_costs(history);
  EXPECT_EQ(costs.lowest.most(), 2);  // the count was 1 or 2
  EXPECT_EQ(costs.highest.most(), 3);
}

TEST(Distributional, RefusesWhatIsNoHistory) {
  EXPECT_THROW(read_costs(std::vector<CounterOperation>{}), Error);
  const std::vector<CounterOperation> backwards = {{Kind::kRead, 0, 2, 1}};
  EXPECT_THROW(read_costs(backwards), Error);
}

TEST(CostDistribution, ComparesByHand) {
  const CostDistribution low({0, 0, 1, 1});
  const CostDistribution high({0, 1, 1, 2});
  EXPECT_EQ(low.at_most(0), 0.5);
  EXPECT_EQ(low.mean(), 0.5);
  EXPECT_EQ(high.most(), 2);
  EXPECT_EQ(low.excess_over(high), 0);
  EXPECT_EQ(high.excess_over(low), 0.25);
  EXPECT_EQ(low.distance_to(high), 0.25);
}

// The table of the literature for 64 cells: mean gap 4.5 fresh, 10.2 stale.
TEST(TwoChoiceProcess, GapsStayFlat) {
  const auto mean_gap = [](std::uint32_t staleness) {
    const ProcessRun run = run_process(
        {.cells = 64, .staleness = staleness, .seed = 5}, 400000, 1024);
    double sum = 0;
    for (const std::uint64_t gap : run.gaps) sum += double(gap);
    return sum / double(run.gaps.size());
  };
  EXPECT_NEAR(mean_gap(1), 4.5, 0.5);
  EXPECT_NEAR(mean_gap(256), 10.2, 1.0);
}

TEST(TwoChoiceProcess, RefusesNonsense) {
  EXPECT_THROW(run_process({.cells = 0}, 1, 1), Error);
  EXPECT_THROW(run_process({.cells = 1, .staleness = 0}, 1, 1), Error);
  EXPECT_THROW(run_process({.cells = 1, .choices = 3}, 1, 1), Error);
  EXPECT_THROW(run_process({.cells = 1}, 1, 0), Error);
}

}  // namespace
}  // namespace weft::concurrent::distributional_test
