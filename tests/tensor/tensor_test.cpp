// Shapes, and the memory below tensors: who shares it, and when it goes back.
#include "weft/tensor/tensor.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace weft::tensor_test {
namespace {

TEST(Shape, CountsElementsAndStrides) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_EQ(row_major_strides(shape)[0], 12);
  EXPECT_EQ(row_major_strides(shape)[2], 1);
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ((Shape{5, 0}.num_elements()), 0);
  EXPECT_EQ(normalize_axis(-1, 3, "test"), 2);
  EXPECT_THROW(normalize_axis(3, 3, "test"), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(Allocator, ABlockIsUniqueUntilItIsShared) {
  BlockRef block = allocate(100);
  EXPECT_TRUE(block.is_unique());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data) % kAlignment, 0u);
  {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const BlockRef second = block;
    EXPECT_FALSE(block.is_unique());
  }
  EXPECT_TRUE(block.is_unique());
}

TEST(Allocator, GivesBackWhatOtherThreadsTook) {
  const std::int64_t before = live_bytes();
  std::vector<BlockRef> blocks;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) {
      blocks.push_back(allocate(static_cast<std::size_t>(i) * 97));
      std::memset(blocks.back()->data, i, static_cast<std::size_t>(i) * 97);
    }
  }).join();
  EXPECT_GT(live_bytes(), before);
  blocks.clear();
  EXPECT_EQ(live_bytes(), before);
}

TEST(Allocator, ForeignMemoryGoesBackToItsOwnerOnceAndIsNeverUnique) {
  int released = 0;
  std::vector<float> memory(8);
  {
    const BlockRef block =
        wrap_foreign(memory.data(), 32, &released,
                     [](void* owner) { ++*static_cast<int*>(owner); });
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const BlockRef second = block;
    EXPECT_FALSE(second.is_unique());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace weft::tensor_test
