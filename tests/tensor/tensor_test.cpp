// Shapes, and the memory below tensors: who shares it, and when it goes back.
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "weft/tensor/tensor_bytes.h"

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

// Products that wrapped around would pass for small tensors.
TEST(Shape, RefusesMoreElementsThanCanBeCounted) {
  const Dim half = Dim{1} << 32;
  EXPECT_EQ((Shape{1 << 28, 1 << 28}.num_elements()), Dim{1} << 56);
  for (const Shape& shape :
       {Shape{half, half}, Shape{half, half, half}, Shape{half, half - 1},
        Shape{(Dim{1} << 56) + 1}, Shape{Dim{1} << 62, 4, 7}}) {
    try {
      shape.num_elements();
      ADD_FAILURE() << "no error for " << to_string(shape);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kExhausted);
    }
  }
  EXPECT_EQ((Shape{half, half, 0}.num_elements()), 0);
  EXPECT_EQ((Shape{0, half, half, half}.num_elements()), 0);
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

TEST(TensorBytes, AreOfTheTensorThatTheyCameFrom) {
  Tensor whole = Tensor::of<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  TensorBytes row = TensorBytes(whole).behind(2 * 2 * sizeof(float));
  EXPECT_FALSE(row.owns_uniquely());
  const Tensor last = row.take({DType::kF32, {2}});
  EXPECT_TRUE(identical(last, Tensor::of<float>({2}, {4, 5})));
  EXPECT_TRUE(last.shares_memory_with(whole));
  EXPECT_EQ(row.raw(), nullptr);
}

TEST(TensorBytes, TheLastOwnerGivesThemBack) {
  TensorBytes bytes = Tensor::zeros({DType::kF32, {4}});
  EXPECT_TRUE(bytes.owns_uniquely());
  const TensorBytes second = bytes;
  EXPECT_FALSE(bytes.owns_uniquely());
  bytes = {};
  EXPECT_TRUE(second.owns_uniquely());
}

}  // namespace
}  // namespace weft::tensor_test
