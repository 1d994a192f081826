#include "weft/concurrent/random.h"

#include <array>
#include <gtest/gtest.h>
#include <set>

namespace weft::concurrent::random_test {
namespace {

TEST(FastRandom, IsAFunctionOfSeedAndThread) {
  FastRandom first(7, 3);
  FastRandom again(7, 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first(), again());
}

TEST(FastRandom, ThreadsDrawDifferentStreams) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t thread = 0; thread < 1000; ++thread)
    firsts.insert(FastRandom(1, thread)());
  EXPECT_EQ(firsts.size(), 1000U);
}

TEST(FastRandom, BelowIsUniform) {
  FastRandom random(1, 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 700000; ++i) ++counts[random.below(7)];
  // Six standard deviations of a binomial(700000, 1/7).
  for (const int count : counts) EXPECT_NEAR(count, 100000, 1800);
}

}  // namespace
}  // namespace weft::concurrent::random_test
