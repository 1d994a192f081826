#include "weft/concurrent/queue/wide_heap.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <queue>
#include <span>
#include <vector>

#include "weft/concurrent/queue/buffered_heap.h"
#include "weft/concurrent/queue/relaxed_queue.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent::wide_heap_test {
namespace {

using Wide = Entry<std::uint64_t, std::uint64_t>;
using Narrow = Entry<std::uint32_t>;

template <class Entry>
class Heaps : public testing::Test {};

using Entries = testing::Types<Wide, Narrow>;
TYPED_TEST_SUITE(Heaps, Entries);

using Reference = std::priority_queue<std::uint64_t, std::vector<std::uint64_t>,
                                      std::greater<>>;

// Batches of every size, from heaps of every size, and down to empty.
TYPED_TEST(Heaps, WidePopsBatchesInOrder) {
  WideHeap<TypeParam, RealMemory> heap;
  Reference reference;
  FastRandom random(3, 0);
  std::array<TypeParam, heap.kMost> popped;
  for (const std::uint32_t most : {1U, 20U, 5U, 300U, 3000U, 2U, 0U}) {
    for (int round = 0; round < 60; ++round) {
      for (std::uint32_t i = random.below(most / 8 + 2);
           i != 0 && reference.size() < most; --i) {
        const std::uint32_t key = random.below(2000);
        heap.push({key});
        reference.push(key);
      }
      const auto batch = std::span(popped).first(
          std::min<std::size_t>(random.below(heap.kMost + 1), heap.size()));
      heap.pop(batch);
      for (const TypeParam& entry : batch) {
        ASSERT_EQ(entry.key, reference.top());
        reference.pop();
      }
      ASSERT_EQ(heap.size(), reference.size());
      ASSERT_EQ(heap.empty(), reference.empty());
    }
  }
}

// The last entries of the array, which a batch moves, may be its first ones.
TEST(WideHeap, PopsABatchThatLiesAtItsEnd) {
  WideHeap<Narrow, RealMemory> heap;
  for (const std::uint32_t key : {0U, 5U, 50U, 60U, 70U, 80U, 90U, 95U, 99U, 6U,
                                  7U, 8U, 9U, 10U, 11U, 12U, 13U})
    heap.push({key});
  std::array<Narrow, 12> popped;
  heap.pop(popped);
  const std::array<std::uint32_t, 12> expected = {0,  5,  6,  7,  8,  9,
                                                  10, 11, 12, 13, 50, 60};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(popped[i].key, expected[i]);
}

// Against the standard's heap, at sizes that pass through every number of
// members in the last family and through empty.
TYPED_TEST(Heaps, BufferedPopsInOrder) {
  BufferedHeap<TypeParam, RealMemory> heap;
  Reference reference;
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

TEST(BufferedHeap, CarriesTheValuesAlong) {
  BufferedHeap<Wide, RealMemory> heap;
  for (std::uint64_t i = 0; i < 1000; ++i) heap.push({i * 7 % 1000, i});
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Wide entry = heap.pop();
    EXPECT_EQ(entry.key, key);
    EXPECT_EQ(entry.value * 7 % 1000, key);
  }
}

TEST(Entry, AKeyAloneTakesNoMoreRoomThanTheKey) {
  EXPECT_EQ(sizeof(Narrow), sizeof(std::uint32_t));
}

}  // namespace
}  // namespace weft::concurrent::wide_heap_test
