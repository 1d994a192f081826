#include "weft/base/checksum.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace weft::checksum_test {
namespace {

std::vector<std::uint8_t> counted(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i);
  }
  return bytes;
}

TEST(Checksum, EveryBitCountsWhereverItStands) {
  for (const std::size_t size : {1, 7, 8, 31, 32, 33, 100}) {
    const std::vector<std::uint8_t> bytes = counted(size);
    std::set<std::uint64_t> sums{checksum(bytes)};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      std::vector<std::uint8_t> other = bytes;
      other[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      EXPECT_TRUE(sums.insert(checksum(other)).second) << bit;
    }
  }
}

// Signs are the highest bits of words, which a product alone would lose.
TEST(Checksum, TwoSignsDoNotCancel) {
  std::vector<float> values(64, 1.5f);
  const auto sum = [&] {
    return checksum({reinterpret_cast<const std::uint8_t*>(values.data()),
                     values.size() * sizeof(float)});
  };
  const std::uint64_t before = sum();
  // Both stand in the same of the four sums.
  values[1] = -values[1];
  values[9] = -values[9];
  EXPECT_NE(sum(), before);
}

TEST(Checksum, ZerosAndOrderCount) {
  std::set<std::uint64_t> sums;
  for (std::size_t size = 0; size < 100; ++size) {
    EXPECT_TRUE(sums.insert(checksum(std::vector<std::uint8_t>(size))).second)
        << size;
  }
  std::vector<std::uint8_t> words = counted(64);
  const std::uint64_t before = checksum(words);
  std::swap_ranges(words.begin(), words.begin() + 8, words.begin() + 32);
  EXPECT_NE(checksum(words), before);
}

// It is compared between machines.
TEST(Checksum, IsTheSameEverywhere) {
  EXPECT_EQ(checksum(counted(100)), 14639386068450293988u);
}

}  // namespace
}  // namespace weft::checksum_test
