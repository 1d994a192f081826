#include "weft/concurrent/queue/wide_heap.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <queue>
#include <vector>

#include "weft/concurrent/queue/buffered_heap.h"
#include "weft/concurrent/queue/relaxed_queue.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent {
namespace {

using Wide = Entry<std::uint64_t, std::uint64_t>;
using Narrow = Entry<std::uint32_t>;

template <class Heap>
class Heaps : public testing::Test {};

using Kinds =
    testing::Types<WideHeap<Wide, RealMemory>, WideHeap<Narrow, RealMemory>,
                   BufferedHeap<Wide, RealMemory>,
                   BufferedHeap<Narrow, RealMemory>>;
TYPED_TEST_SUITE(Heaps, Kinds);

// Against the standard's heap, at sizes that pass through every number of
// members in the last family and through empty.
TYPED_TEST(Heaps, PopsInOrder) {
  TypeParam heap;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>
      reference;
  FastRandom random(3, 0);
  for (const std::size_t target : {1U, 9U, 0U, 700U, 30U, 5000U, 0U}) {
    while (reference.size() != target) {
      // Two steps forward, one back, in both directions.
      const bool grows = reference.size() < target;
      const bool push = reference.empty() || (random.below(3) != 0) == grows;
      if (push) {
        const std::uint32_t key = random.below(2000);
        heap.push({key});
        reference.push(key);
      } else {
        ASSERT_EQ(heap.pop().key, reference.top());
        reference.pop();
      }
      ASSERT_EQ(heap.size(), reference.size());
      ASSERT_EQ(heap.empty(), reference.empty());
      if (reference.empty()) continue;
      ASSERT_EQ(heap.top().key, reference.top());
    }
  }
}

TEST(Heaps, CarryTheValuesAlong) {
  BufferedHeap<Wide, RealMemory> heap;
  for (std::uint64_t i = 0; i < 1000; ++i) heap.push({i * 7 % 1000, i});
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Wide entry = heap.pop();
    EXPECT_EQ(entry.key, key);
    EXPECT_EQ(entry.value * 7 % 1000, key);
  }
}

TEST(Heaps, AKeyAloneTakesNoMoreRoomThanTheKey) {
  EXPECT_EQ(sizeof(Narrow), sizeof(std::uint32_t));
}

}  // namespace
}  // namespace weft::concurrent
