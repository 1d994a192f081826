#include "weft/tensor/allocator.h"

#include <gtest/gtest.h>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(Allocator, GivesALargeBlockToTheNextOfItsSize) {
  BlockRef block = allocate(4 * kMebibyte);
  const std::byte* data = block->data;
  block = BlockRef();
  const BlockRef smaller = allocate(4 * kMebibyte - 100);
  EXPECT_EQ(smaller->data, data);
  EXPECT_EQ(smaller->bytes, 4 * kMebibyte - 100);
  EXPECT_GE(smaller->capacity, 4 * kMebibyte);
}

TEST(Allocator, WastesNoLargeBlockOnASmallOne) {
  BlockRef block = allocate(4 * kMebibyte);
  const std::byte* data = block->data;
  block = BlockRef();
  EXPECT_NE(allocate(kMebibyte)->data, data);
  EXPECT_EQ(allocate(4 * kMebibyte)->data, data);
}

TEST(Allocator, KeepsNoMoreThanAProcessCanSpare) {
  std::vector<BlockRef> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(allocate(4 * kMebibyte));
  const std::int64_t live = live_bytes();
  blocks.clear();
  EXPECT_LE(live_bytes(), live - 160 * static_cast<std::int64_t>(kMebibyte));
  EXPECT_GE(pooled_bytes(), 60 * kMebibyte);
  EXPECT_LE(pooled_bytes(), 64 * kMebibyte);
}

}  // namespace
}  // namespace weft
