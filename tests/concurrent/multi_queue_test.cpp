#include "weft/concurrent/queue/multi_queue.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <new>
#include <numeric>
#include <vector>

#include "tests/support/errors.h"

#include "weft/concurrent/queue/rank_log.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::multi_queue_test {
namespace {

using Keys = MultiQueue<std::uint32_t>;
using Owned =
    MultiQueue<std::uint32_t, Nothing, RealMemory, OwnedPair<RealMemory>>;
static_assert(RelaxedQueue<Keys>);
static_assert(RelaxedQueue<Owned>);

// What one thread pops from a queue that holds a random half of the keys, each
// replaced by a new one: `steps` ranks.
RankLog ranks_of(const MultiQueueOptions& options, std::uint32_t resident,
                 std::uint32_t steps) {
  Keys queue(options);
  auto handle = queue.handle(0);
  RankLog log(resident + steps);
  for (std::uint32_t key = 0; key < resident; ++key) {
    handle.push({key});
    log.pushed(key);
  }
  for (std::uint32_t key = resident; key < resident + steps; ++key) {
    log.popped(handle.pop()->key);
    handle.push({key});
    log.pushed(key);
  }
  return log;
}

TEST(MultiQueue, OneQueueIsExact) {
  const RankLog log = ranks_of({.queues = 1}, 1000, 20000);
  EXPECT_EQ(log.ranks(), std::vector<std::uint64_t>{20000});
}

TEST(MultiQueue, TwoQueuesAndOneThreadAreExact) {
  const RankLog log = ranks_of({.queues = 2}, 1000, 20000);
  EXPECT_EQ(log.ranks(), std::vector<std::uint64_t>{20000});
}

// About 0.78 q; below eight queues the two that are drawn are too often the
// best ones for that.
TEST(MultiQueue, MeanRankIsProportionalToTheNumberOfQueues) {
  for (const int queues : {4, 8, 16, 32, 64}) {
    const RankLog log =
        ranks_of({.queues = queues, .stickiness = 1}, 30000, 30000);
    const double mean = RankLog::mean(log.ranks());
    EXPECT_GE(mean, queues == 4 ? 0.3 * queues : 0.5 * queues) << queues;
    EXPECT_LE(mean, 1.2 * queues) << queues;
  }
}

// The contract of relaxed_queue.h, with k = 3 q (1 + ln q).
TEST(MultiQueue, RanksAndOvertakingsHaveExponentialTails) {
  for (const int queues : {4, 16, 64}) {
    const RankLog log =
        ranks_of({.queues = queues, .stickiness = 1}, 30000, 60000);
    const double k = 3 * queues * (1 + std::log(queues));
    for (const auto* histogram : {&log.ranks(), &log.overtakings()})
      for (std::size_t least = 1; least < histogram->size(); ++least)
        ASSERT_LE(RankLog::tail(*histogram, least),
                  std::exp(-static_cast<double>(least) / k))
            << queues << " queues, " << least;
  }
}

// The power of two choices: with one, ranks grow for ever.
TEST(MultiQueue, TwoChoicesStayWhereOneDrifts) {
  const auto mean_of = [](int choices, std::uint32_t steps) {
    return RankLog::mean(
        ranks_of({.queues = 8, .stickiness = 1, .choices = choices}, 100000,
                 steps)
            .ranks());
  };
  EXPECT_LT(mean_of(2, 200000), 1.3 * mean_of(2, 10000));
  EXPECT_GT(mean_of(1, 200000), 2.5 * mean_of(1, 10000));
}

TEST(MultiQueue, SticksAtThePriceOfRank) {
  const auto mean_of = [](int stickiness) {
    return RankLog::mean(
        ranks_of({.queues = 16, .stickiness = stickiness}, 30000, 30000)
            .ranks());
  };
  EXPECT_GT(mean_of(64), 1.5 * mean_of(1));
}

TEST(MultiQueue, FindsTheLastEntryWhereverItLies) {
  Keys queue({.queues = 64});
  auto handle = queue.handle(0);
  for (std::uint32_t key = 0; key < 100; ++key) {
    handle.push({key});
    ASSERT_EQ(handle.pop()->key, key);
    ASSERT_FALSE(handle.pop());
  }
}

// Threads push and pop at once; then what is left is popped. Nothing may be
// lost or come twice.
template <class Queue>
void expect_everything_once(const MultiQueueOptions& options) {
  constexpr std::uint32_t kEach = 20000;
  const auto threads = static_cast<std::uint32_t>(options.threads);
  Queue queue(options);
  std::vector<std::vector<std::uint32_t>> popped(threads);
  run_threads(options.threads, [&](int thread) {
    auto handle = queue.handle(thread);
    auto& mine = popped[static_cast<std::size_t>(thread)];
    const auto first = static_cast<std::uint32_t>(thread) * kEach;
    for (std::uint32_t i = 0; i < kEach; ++i) {
      handle.push({first + i});
      if (i % 3 != 0) continue;
      if (const auto entry = handle.pop()) mine.push_back(entry->key);
    }
  });
  std::vector<std::uint32_t> all;
  for (const auto& some : popped)
    all.insert(all.end(), some.begin(), some.end());
  EXPECT_EQ(all.size() + queue.size(), threads * kEach);
  auto handle = queue.handle(0);
  while (const auto entry = handle.pop()) all.push_back(entry->key);
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> pushed(std::size_t{threads} * kEach);
  std::iota(pushed.begin(), pushed.end(), 0);
  EXPECT_TRUE(all == pushed);
}

TEST(MultiQueue, LosesAndDoublesNothing) {
  for (const int queues : {1, 2, 3, 16})
    for (const bool recheck : {false, true})
      expect_everything_once<Keys>(
          {.queues = queues, .threads = 4, .recheck = recheck});
}

TEST(MultiQueue, RefusesThreadsThatHaveNoPlace) {
  Keys keys({.queues = 4, .threads = 2});
  Owned owned({.queues = 4, .threads = 2});
  const auto refused = [](auto& queue, int thread) {
    test::expect_error(ErrorCode::kInvalidArgument,
                       {"MultiQueue", fmt::format("thread {}", thread)},
                       [&] { queue.handle(thread); });
  };
  refused(keys, -1);
  refused(owned, -1);
  refused(owned, 2);
  // Whoever draws its queues needs no place of its own.
  keys.handle(2).push({1});
  owned.handle(1).push({1});
}

TEST(MultiQueue, OwnedPairsLoseAndDoubleNothing) {
  for (const int queues : {8, 9, 32})
    expect_everything_once<Owned>(
        {.queues = queues, .threads = 4, .stickiness = 2});
}

// The permutation that threads swap in stays one: each queue stands at one
// place.
TEST(OwnedPair, SwappingLosesNoQueue) {
  constexpr int kThreads = 4;
  constexpr int kQueues = 11;
  OwnedPair<RealMemory>::Shared shared(kQueues);
  run_threads(kThreads, [&](int thread) {
    FastRandom random(1, static_cast<std::uint64_t>(thread));
    OwnedPair<RealMemory> pair(shared, kQueues, 1, thread, random);
    for (int i = 0; i < 20000; ++i) {
      ASSERT_LT(pair.first(), static_cast<std::uint32_t>(kQueues));
      ASSERT_LT(pair.second(), static_cast<std::uint32_t>(kQueues));
      pair.used(random);
    }
  });
  std::array<int, kQueues> seen{};
  for (std::uint32_t place = 0; place < kQueues; ++place)
    ++seen[shared.at(place)];
  for (const int count : seen) EXPECT_EQ(count, 1);
}

TEST(RandomPair, DrawsTwoDifferentQueues) {
  RandomPair<RealMemory>::Shared shared(3);
  FastRandom random(1, 0);
  RandomPair<RealMemory> pair(shared, 3, 2, 0, random);
  std::array<int, 9> seen{};
  for (int i = 0; i < 18000; ++i) {
    ++seen[pair.first() * 3 + pair.second()];
    pair.used(random);
  }
  // Each of the six ordered pairs, and none twice the same queue.
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_NEAR(seen[i], i % 4 == 0 ? 0 : 3000, i % 4 == 0 ? 0 : 420);
}

TEST(MultiQueue, RefusesOptionsThatMakeNoQueue) {
  EXPECT_THROW(Keys({.queues = 0}), Error);
  EXPECT_THROW(Keys({.stickiness = 0}), Error);
  EXPECT_THROW(Keys({.choices = 3}), Error);
  EXPECT_THROW(Owned({.queues = 7, .threads = 4}), Error);
}

}  // namespace
}  // namespace weft::concurrent::multi_queue_test
