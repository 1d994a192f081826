// A MultiQueue that gets no memory: nothing is lost, no lock is left, and it
// goes on once there is some again.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <vector>

#include "weft/concurrent/queue/multi_queue.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent::multi_queue_memory_test {
namespace {

// One allocation in this many is refused; 0: none is.
std::atomic<std::uint64_t> refused_every = 0;
std::atomic<std::uint64_t> allocations = 0;
std::atomic<std::uint64_t> refusals = 0;

template <class T>
struct RefusingAllocator : std::allocator<T> {
  RefusingAllocator() = default;
  template <class U>
  explicit RefusingAllocator(const RefusingAllocator<U>& /*other*/) {}
  template <class U>
  struct rebind {
    using other = RefusingAllocator<U>;
  };

  T* allocate(std::size_t count) {
    const std::uint64_t every = refused_every.load();
    if (every != 0 && (allocations.fetch_add(1) + 1) % every == 0) {
      ++refusals;
      throw std::bad_alloc();
    }
    return std::allocator<T>::allocate(count);
  }
};

struct RefusingMemory : RealMemory {
  template <class T>
  using Allocator = RefusingAllocator<T>;
};

using Keys = MultiQueue<std::uint64_t, Nothing, RefusingMemory>;

// While it lives, one allocation of so many is refused.
class Refusing {
 public:
  explicit Refusing(std::uint64_t every) {
    allocations = 0;
    refusals = 0;
    refused_every = every;
  }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
  ~Refusing() { refused_every = 0; }
};

bool push(Keys::Handle& handle, std::uint64_t key) {
  try {
    handle.push({key});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::vector<std::uint64_t> drain(Keys::Handle& handle) {
  std::vector<std::uint64_t> keys;
  while (const auto entry = handle.pop()) keys.push_back(entry->key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

TEST(MultiQueueMemory, APushThatGetsNoneHasPushedNothing) {
  for (const int queues : {1, 2, 8}) {
    Keys queue({.queues = queues});
    auto handle = queue.handle(0);
    std::vector<std::uint64_t> pushed;
    std::uint64_t key = 0;
    const auto push_many = [&](std::uint64_t count) {
      std::uint64_t refused = 0;
      for (const std::uint64_t end = key + count; key < end; ++key) {
        if (push(handle, key))
          pushed.push_back(key);
        else
          ++refused;
      }
      return refused;
    };
    EXPECT_EQ(push_many(100), 0U);
    {
      const Refusing refusing(1);
      EXPECT_GT(push_many(3000), 1000U);
      EXPECT_EQ(queue.size(), pushed.size());
      // A pop needs none.
      for (int i = 0; i < 50; ++i) {
        const auto entry = handle.pop();
        ASSERT_TRUE(entry);
        const auto place = std::find(pushed.begin(), pushed.end(), entry->key);
        ASSERT_NE(place, pushed.end());
        pushed.erase(place);
      }
    }
    EXPECT_EQ(push_many(1000), 0U);  // to each queue: no lock is held
    EXPECT_EQ(queue.size(), pushed.size());
    EXPECT_EQ(drain(handle), pushed) << queues << " queues";
  }
}

TEST(MultiQueueMemory, ThreadsLoseNothingToRefusals) {
  constexpr int kThreads = 3;
  constexpr std::uint64_t kEach = 30000;
  Keys queue({.queues = 6, .threads = kThreads});
  std::vector<std::vector<std::uint64_t>> pushed(kThreads);
  std::vector<std::vector<std::uint64_t>> popped(kThreads);
  {
    const Refusing refusing(2);
    run_threads(kThreads, [&](int thread) {
      auto handle = queue.handle(thread);
      const auto self = static_cast<std::size_t>(thread);
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t key = i * kThreads + self;
        if (push(handle, key)) pushed[self].push_back(key);
        if (i % 4 != 0) continue;
        if (const auto entry = handle.pop()) popped[self].push_back(entry->key);
      }
    });
  }
  EXPECT_GT(refusals.load(), 5U);
  auto handle = queue.handle(0);
  std::vector<std::uint64_t> in;
  std::vector<std::uint64_t> out = drain(handle);
  for (const auto& some : pushed) in.insert(in.end(), some.begin(), some.end());
  for (const auto& some : popped)
    out.insert(out.end(), some.begin(), some.end());
  std::sort(in.begin(), in.end());
  std::sort(out.begin(), out.end());
  EXPECT_LT(in.size(), kThreads * kEach);
  EXPECT_TRUE(in == out);
}

// Draws no pair: the queues 0 and 1, then 2 and 3, in turns.
template <Memory M>
class FixedPairs {
 public:
  static constexpr int kQueuesPerThread = 0;
  struct Shared {
    explicit Shared(int /*queues*/) {}
  };
  FixedPairs(Shared& /*shared*/, int /*queues*/, int /*stickiness*/,
             int /*thread*/, FastRandom& /*random*/) {}

  std::uint32_t first() const { return pair_; }
  std::uint32_t second() const { return pair_ + 1; }
  void used(FastRandom& random) { redraw(random); }
  void redraw(FastRandom& /*random*/) { pair_ = 2 - pair_; }

 private:
  std::uint32_t pair_ = 0;
};

// With two different queues to choose from, and nobody else, a pop is the first
// entry of both.
TEST(MultiQueue, APopIsTheBetterOfItsTwoQueues) {
  MultiQueue<std::uint64_t, Nothing, RealMemory, FixedPairs<RealMemory>> queue(
      {.queues = 4});
  auto handle = queue.handle(0);
  std::array<std::vector<std::uint64_t>, 2> pairs;
  FastRandom random(3, 0);
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t key = random() >> 1U;
    auto& pair = pairs[static_cast<std::size_t>(i % 2)];
    handle.push({key});
    pair.insert(std::lower_bound(pair.begin(), pair.end(), key,
                                 std::greater<std::uint64_t>()),
                key);
  }
  for (int i = 0; i < 4000; ++i) {
    auto& pair = pairs[static_cast<std::size_t>(i % 2)];
    ASSERT_EQ(handle.pop()->key, pair.back());
    pair.pop_back();
  }
  EXPECT_FALSE(handle.pop());
}

}  // namespace
}  // namespace weft::concurrent::multi_queue_memory_test
