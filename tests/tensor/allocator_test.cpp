#include "weft/tensor/allocator.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace weft::allocator_test {
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

TEST(Allocator, GivesTheBlockThatCameLast) {
  BlockRef first = allocate(3 * kMebibyte);
  BlockRef second = allocate(3 * kMebibyte);
  const std::byte* data = first->data;
  second = BlockRef();
  first = BlockRef();
  EXPECT_EQ(allocate(3 * kMebibyte)->data, data);
}

TEST(Allocator, ABlockHasRoomForItsRequestAndAQuarterMoreAtMost) {
  for (std::size_t bytes = 1; bytes < 100'000; bytes += bytes < 300 ? 1 : 97) {
    const BlockRef block = allocate(bytes);
    EXPECT_GE(block->capacity, bytes);
    EXPECT_LE(block->capacity, std::max<std::size_t>(64, bytes + bytes / 4 + 1))
        << bytes;
  }
}

TEST(Allocator, ASmallBlockServesWhatIsNearlyAsLarge) {
  BlockRef block = allocate(18'000);
  const std::byte* data = block->data;
  block = BlockRef();
  EXPECT_EQ(allocate(18'432)->data, data);
}

TEST(Allocator, WastesNoLargeBlockOnASmallOne) {
  BlockRef block = allocate(4 * kMebibyte);
  const std::byte* data = block->data;
  block = BlockRef();
  EXPECT_NE(allocate(kMebibyte)->data, data);
  EXPECT_EQ(allocate(4 * kMebibyte)->data, data);
}

TEST(Allocator, KeepsNoMoreThanWasHeldAtOnce) {
  std::vector<BlockRef> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(allocate(4 * kMebibyte));
  const auto peak = static_cast<std::size_t>(live_bytes());
  blocks.clear();
  const auto left = static_cast<std::size_t>(live_bytes());
  EXPECT_LE(left, peak - 160 * kMebibyte);
  EXPECT_GE(pooled_bytes(), 160 * kMebibyte);
  EXPECT_LE(pooled_bytes() + left, std::max(peak, 164 * kMebibyte));
  // Blocks that do not fit anyone give way to those that are needed now.
  blocks.push_back(allocate(150 * kMebibyte));
  EXPECT_LE(pooled_bytes(), 64 * kMebibyte);
}

TEST(Allocator, KeepsALargeResultThoughSmallOnesWereKeptBefore) {
  const BlockRef operand = allocate(96 * kMebibyte);
  for (std::size_t i = 1; i < 8; ++i) allocate(i * kMebibyte);
  BlockRef result = allocate(96 * kMebibyte);
  const std::byte* data = result->data;
  result = BlockRef();
  EXPECT_EQ(allocate(96 * kMebibyte)->data, data);
}

TEST(Allocator, PutsLargeBlocksIntoHugePages) {
  const BlockRef block = allocate(4 * kMebibyte);
  const auto start = reinterpret_cast<std::uintptr_t>(block->data) - kAlignment;
  EXPECT_EQ(start % (2 * kMebibyte), 0u);
  block->data[block->capacity - 1] = std::byte{1};
}

}  // namespace
}  // namespace weft::allocator_test
