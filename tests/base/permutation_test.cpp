#include "weft/base/permutation.h"

#include <gtest/gtest.h>
#include <vector>

namespace weft::permutation_test {
namespace {

bool is_bijection(const Permutation& permutation) {
  std::vector<bool> seen(permutation.size(), false);
  for (std::uint64_t i = 0; i < permutation.size(); ++i) {
    const std::uint64_t value = permutation(i);
    if (value >= permutation.size() || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

std::vector<std::uint64_t> order(const Permutation& permutation) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < permutation.size(); ++i) {
    values.push_back(permutation(i));
  }
  return values;
}

TEST(Permutation, VisitsEveryIndexOnceForSmallSizes) {
  for (std::uint64_t size = 1; size <= 200; ++size) {
    EXPECT_TRUE(is_bijection(Permutation(size, 7, 1, 0))) << size;
  }
}

TEST(Permutation, VisitsEveryIndexOnceForLargeSizes) {
  for (const std::uint64_t size : {1437u, 4096u, 4097u, 60000u, 65537u}) {
    EXPECT_TRUE(is_bijection(Permutation(size, 7, 1, 3))) << size;
  }
}

TEST(Permutation, StaysInRangeForHugeSizes) {
  const std::uint64_t size = (std::uint64_t{1} << 40) + 12345;
  const Permutation permutation(size, 7, 1, 0);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_LT(permutation(i), size);
}

TEST(Permutation, IsTheSameByItsTable) {
  for (const std::uint64_t size : {1, 2, 3, 5, 16, 17, 1000, 70000}) {
    const Permutation permutation(size, 7, 1, 2);
    std::vector<std::uint32_t> words(Permutation::table_words(size));
    permutation.tabulate(words);
    for (std::uint64_t i = 0; i < size; ++i)
      ASSERT_EQ(permutation.by_table(i, words), permutation(i)) << size;
  }
}

TEST(Permutation, DiffersByEpochSeedAndStream) {
  const auto first = order(Permutation(100, 7, 1, 0));
  EXPECT_EQ(first, order(Permutation(100, 7, 1, 0)));
  EXPECT_NE(first, order(Permutation(100, 7, 1, 1)));
  EXPECT_NE(first, order(Permutation(100, 8, 1, 0)));
  EXPECT_NE(first, order(Permutation(100, 7, 2, 0)));
}

TEST(Permutation, MovesNearlyEverything) {
  const Permutation permutation(10000, 1, 1, 0);
  int fixed = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) fixed += permutation(i) == i;
  // One fixed point is expected; ten have a chance of one in ten million.
  EXPECT_LT(fixed, 10);
}

// Over many epochs every position gets every value about equally often.
TEST(Permutation, IsUniformAtAPosition) {
  std::vector<int> counts(10, 0);
  for (std::uint32_t epoch = 0; epoch < 10000; ++epoch) {
    ++counts[Permutation(10, 3, 1, epoch)(4)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace weft::permutation_test
