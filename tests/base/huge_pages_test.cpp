#include "weft/base/huge_pages.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace weft::huge_pages_test {
namespace {

TEST(HugePages, HoldWhatAVectorHolds) {
  HugeVector<std::uint32_t> numbers;
  // It grows from small pages to huge ones.
  for (std::uint32_t i = 0; i < 3'000'000; ++i) numbers.push_back(i);
  for (std::uint32_t i = 0; i < 3'000'000; ++i) ASSERT_EQ(numbers[i], i);
  const HugeVector<std::uint32_t> copy = numbers;
  EXPECT_EQ(copy, numbers);
  EXPECT_TRUE(HugeVector<float>().empty());
}

TEST(HugePages, LargeOnesBeginWithAPage) {
  const HugeVector<char> bytes(std::size_t{5} << 20U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (2U << 20U), 0U);
}

TEST(HugePages, RefuseWhatThereCannotBe) {
  HugePageAllocator<double> allocator;
  EXPECT_THROW(allocator.allocate(std::numeric_limits<std::size_t>::max() / 8),
               std::bad_alloc);
}

}  // namespace
}  // namespace weft::huge_pages_test
