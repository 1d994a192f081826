#include "weft/concurrent/queue/locked_queue.h"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/errors.h"

#include "weft/concurrent/queue/rank_log.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::locked_queue_test {
namespace {

static_assert(RelaxedQueue<LockedHeap<std::uint32_t>>);
static_assert(RelaxedQueue<UniformQueue<std::uint32_t>>);

TEST(LockedHeap, IsExact) {
  LockedHeap<std::uint32_t> queue;
  auto handle = queue.handle(0);
  for (const std::uint32_t key : {5U, 1U, 9U, 1U, 0U, 7U}) handle.push({key});
  for (const std::uint32_t key : {0U, 1U, 1U, 5U, 7U, 9U})
    EXPECT_EQ(handle.pop()->key, key);
  EXPECT_FALSE(handle.pop());
}

TEST(LockedHeap, LosesAndDoublesNothingUnderContention) {
  constexpr int kThreads = 4;
  constexpr std::uint32_t kEach = 5000;
  LockedHeap<std::uint32_t> queue;
  std::array<std::vector<std::uint32_t>, kThreads> popped;
  run_threads(kThreads, [&](int thread) {
    auto handle = queue.handle(thread);
    for (std::uint32_t i = 0; i < kEach; ++i) {
      handle.push({static_cast<std::uint32_t>(thread) * kEach + i});
      if (const auto entry = handle.pop())
        popped[static_cast<std::size_t>(thread)].push_back(entry->key);
    }
  });
  std::vector<std::uint32_t> all;
  for (const auto& some : popped)
    all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> pushed(std::size_t{kThreads} * kEach);
  std::iota(pushed.begin(), pushed.end(), 0);
  EXPECT_EQ(all, pushed);
}

TEST(UniformTopK, WithKOneIsExact) {
  UniformQueue<std::uint32_t> queue({1, 5});
  auto handle = queue.handle(0);
  for (std::uint32_t i = 0; i < 100; ++i) handle.push({i * 37 % 100});
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(handle.pop()->key, i);
}

// Every rank below k equally often, none above, also when entries that were
// popped come back.
TEST(UniformTopK, DrawsUniformlyFromTheFirstK) {
  constexpr std::uint32_t kKeys = 1000;
  constexpr std::uint32_t kWindow = 8;
  constexpr int kPops = 80000;
  UniformQueue<std::uint32_t> queue({kWindow, 5});
  auto handle = queue.handle(0);
  RankLog log(kKeys);
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    handle.push({i * 37 % kKeys});
    log.pushed(i * 37 % kKeys);
  }
  FastRandom random(2, 0);
  std::set<std::uint32_t> absent;
  for (int i = 0; i < kPops; ++i) {
    const std::uint32_t key = handle.pop()->key;
    log.popped(key);
    absent.insert(key);
    // Keep some keys out, and bring a random one back.
    if (absent.size() < 300) continue;
    const auto back = std::next(absent.begin(), random.below(300));
    handle.push({*back});
    log.pushed(*back);
    absent.erase(back);
  }
  ASSERT_EQ(log.ranks().size(), kWindow);
  // Six standard deviations of a binomial(80000, 1/8).
  for (const std::uint64_t count : log.ranks())
    EXPECT_NEAR(static_cast<double>(count), kPops / 8.0, 560);
}

TEST(UniformTopK, RefusesAnEmptyWindow) {
  EXPECT_THROW(UniformQueue<std::uint32_t>({0, 1}), Error);
}

}  // namespace
}  // namespace weft::concurrent::locked_queue_test
