// Noise: its distribution, its grid, and that nobody can repeat it.
#include "weft/privacy/noise/noise.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>
#include <vector>

#include "tests/support/errors.h"

#include "weft/base/parallel.h"

namespace weft::noise_test {
namespace {

using privacy::add_gaussian;
using privacy::noise_grid;

constexpr std::size_t kMany = 1 << 22;

SecretKey key_of(std::uint8_t seed) {
  SecretKey key;
  key.bytes.fill(seed);
  return key;
}

std::vector<float> many(double deviation, std::uint8_t seed = 5) {
  std::vector<float> noise(kMany);
  add_gaussian(noise, deviation, key_of(seed), 0);
  return noise;
}

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

TEST(Noise, HasTheMomentsOfANormal) {
  double sums[4] = {};
  for (const float x : many(2)) {
    const double z = static_cast<double>(x) / 2;
    for (int k = 0; k < 4; ++k) sums[k] += std::pow(z, k + 1) / kMany;
  }
  // Five deviations of each estimate.
  const double root = std::sqrt(static_cast<double>(kMany));
  EXPECT_NEAR(sums[0], 0, 5 / root);
  EXPECT_NEAR(sums[1], 1, 5 * std::sqrt(2) / root);
  EXPECT_NEAR(sums[2], 0, 5 * std::sqrt(15) / root);
  EXPECT_NEAR(sums[3], 3, 5 * std::sqrt(96) / root);
}

// Kolmogorov and Smirnov: the largest distance of the distributions is above
// 1.95 / sqrt(n) with a chance of a thousandth. A grid of a 4,096th adds 5e-5.
TEST(Noise, IsANormalEverywhere) {
  std::vector<float> noise = many(1);
  std::sort(noise.begin(), noise.end());
  double worst = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / kMany;
    worst = std::max(
        worst, std::abs(normal_cdf(static_cast<double>(noise[i])) - share));
  }
  EXPECT_LT(worst, 1.95 / std::sqrt(static_cast<double>(kMany)) + 5e-5);
}

TEST(Noise, HasItsTails) {
  std::size_t beyond[6] = {};
  for (const float x : many(1))
    for (int k = 3; k < 6; ++k)
      beyond[k] += std::abs(static_cast<double>(x)) > k ? 1 : 0;
  for (int k = 3; k < 6; ++k) {
    const double expected = kMany * 2 * normal_cdf(-k);
    EXPECT_NEAR(static_cast<double>(beyond[k]), expected,
                6 * std::sqrt(expected) + 1)
        << k;
  }
}

TEST(Noise, NeighboursAreIndependent) {
  const std::vector<float> noise = many(1);
  // Pairs of Box and Muller lie a vector's width apart.
  for (const std::size_t apart : {1, 2, 4, 8, 16, 2048}) {
    double product = 0;
    double squares = 0;
    for (std::size_t i = 0; i + apart < kMany; ++i) {
      const double x = noise[i];
      const double y = noise[i + apart];
      product += x * y;
      squares += (x * x - 1) * (y * y - 1) / 2;
    }
    const double bound = 5 * std::sqrt(static_cast<double>(kMany));
    EXPECT_LT(std::abs(product), bound) << apart;
    EXPECT_LT(std::abs(squares), bound) << apart;
  }
}

TEST(Noise, IsOnItsGridWhateverItIsAddedTo) {
  for (const double deviation : {1e-9, 0.3, 1.0, 1.99, 7e5}) {
    const double grid = noise_grid(deviation);
    EXPECT_LE(grid, deviation / 4096);
    EXPECT_GT(grid, deviation / 8193);
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] =
          static_cast<float>(deviation * std::sin(static_cast<double>(i)));
    const std::vector<float> before = values;
    add_gaussian(values, deviation, key_of(1), 0);
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double in_grids = static_cast<double>(values[i]) / grid;
      ASSERT_EQ(in_grids, std::round(in_grids));
      squares += std::pow((values[i] - before[i]) / deviation, 2);
    }
    EXPECT_NEAR(squares / 5000, 1, 0.1);
  }
}

TEST(Noise, IsAnotherForAnotherKeyAndStream) {
  std::vector<float> first(4096);
  add_gaussian(first, 1, key_of(1), 0);
  for (const auto& [key, stream] :
       {std::pair(key_of(2), 0), std::pair(key_of(1), 2)}) {
    std::vector<float> second(4096);
    add_gaussian(second, 1, key, static_cast<std::uint64_t>(stream));
    EXPECT_NE(first, second);
  }
}

TEST(Noise, FollowsFromTheKeyOnAnyThreads) {
  const std::vector<float> noise = many(1);
  const int threads = thread_count();
  set_thread_count(1);
  EXPECT_EQ(many(1), noise);
  set_thread_count(threads);
  EXPECT_NE(many(1, 6), noise);
  // A shorter one is the beginning of a longer one.
  std::vector<float> some(1001);
  add_gaussian(some, 1, key_of(5), 0);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), noise.begin()));
}

TEST(Noise, RefusesWhatIsNoDeviation) {
  for (const double deviation : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e-40}) {
    test::expect_error(ErrorCode::kInvalidArgument, {"deviation", "2^100"},
                       [&] { add_gaussian({}, deviation, key_of(1), 0); });
  }
}

}  // namespace
}  // namespace weft::noise_test
