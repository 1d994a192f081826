#include "weft/validation/distance.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/validation/tables.h"

#include "weft/base/philox.h"

namespace weft::distance_test {
namespace {

using namespace validation;
using test::summary_of_table;
using test::table_of;

double measured(const std::string& distance, const std::vector<double>& p,
                const std::vector<double>& q) {
  return distance_registry()
      .get(distance)
      .measure(
          {.first = p, .second = q, .first_count = 100, .second_count = 100})
      .value;
}

TEST(Distance, OfJensenAndShannonIsWhatWasWorkedOutByHand) {
  EXPECT_NEAR(measured("jensen_shannon", {0.5, 0.5}, {1, 0}), 0.311278, 1e-6);
  EXPECT_EQ(measured("jensen_shannon", {1, 0}, {0, 1}), 1);
  EXPECT_EQ(measured("jensen_shannon", {0.3, 0.7}, {0.3, 0.7}), 0);
  EXPECT_EQ(measured("jensen_shannon", {0.2, 0.8}, {0.6, 0.4}),
            measured("jensen_shannon", {0.6, 0.4}, {0.2, 0.8}));
}

TEST(Distance, OfSharesIsThatOfTheOneThatMovedMost) {
  const auto first =
      summary_of_table(table_of({{"A", 50}, {"B", 30}, {"C", 20}}));
  const auto second =
      summary_of_table(table_of({{"A", 40}, {"B", 30}, {"D", 30}}));
  const auto found =
      measure_distance(distance_registry().get("l_infinity"), first.features[0],
                       second.features[0], "");
  EXPECT_DOUBLE_EQ(found.distance.value, 0.3);
  EXPECT_EQ(found.distance.where, "D");
  // In counts it is 50 against 40 of 200, and 30 against none.
  const auto counted =
      measure_distance(distance_registry().get("normalized_difference"),
                       first.features[0], second.features[0], "");
  EXPECT_DOUBLE_EQ(counted.distance.value, 30.0 / 200);
}

TEST(Distance, OfChiSquareIsItsPValue) {
  // Counts (60, 40) and (40, 60): χ² = 8 with one degree, whose p is 0.004678.
  EXPECT_NEAR(measured("chi_square", {0.6, 0.4}, {0.4, 0.6}), 1 - 0.0046777,
              1e-6);
  EXPECT_EQ(measured("chi_square", {0.6, 0.4}, {0.6, 0.4}), 0);
  // χ² = 20 with 4 degrees: p = 0.000499.
  EXPECT_NEAR(measured("chi_square", {0.3, 0.2, 0.2, 0.2, 0.1},
                       {0.1, 0.2, 0.2, 0.2, 0.3}),
              1 - 0.000499, 1e-6);
}

TEST(Distance, IsRefusedWhereItWouldSayNothing) {
  const auto numbers = summary_of_table("x\n0.5\n1.5\n");
  const auto texts = summary_of_table("x\na\nb\n");
  const auto nothing = summary_of_table("x\n\"\"\n");
  const DistanceDef& shares = distance_registry().get("l_infinity");
  const DistanceDef& bits = distance_registry().get("jensen_shannon");
  EXPECT_THROW(measure_distance(shares, numbers.features[0],
                                numbers.features[0], "equal_width"),
               Error);
  EXPECT_THROW(measure_distance(bits, numbers.features[0], texts.features[0],
                                "equal_width"),
               Error);
  EXPECT_THROW(measure_distance(bits, texts.features[0], nothing.features[0],
                                "equal_width"),
               Error);
  // Integers may name things, as months do.
  const auto months = summary_of_table("x\n1\n2\n2\n3\n");
  EXPECT_EQ(measure_distance(shares, months.features[0], months.features[0],
                             "equal_width")
                .distance.value,
            0);
}

TEST(Alignment, SplitsBucketsByTheirWidth) {
  const Histogram first{.buckets = {{0, 10, 100}}};
  const Histogram second{.buckets = {{5, 15, 100}}};
  const AlignedShares shares = align(first, second);
  EXPECT_EQ(shares.first, (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(shares.second, (std::vector<double>{0, 0.5, 0.5}));
  EXPECT_DOUBLE_EQ(measured("jensen_shannon", shares.first, shares.second),
                   0.5);
}

TEST(Alignment, KeepsPointsApart) {
  const Histogram first{.buckets = {{0, 10, 50}, {5, 5, 50}}};
  const Histogram second{.buckets = {{0, 10, 100}}};
  const AlignedShares shares = align(first, second);
  EXPECT_EQ(shares.first, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(shares.second, (std::vector<double>{1, 0}));
}

TEST(Alignment, MatchesNeitherNanNorInfinity) {
  const Histogram plain{.buckets = {{0, 10, 100}}};
  const Histogram half{.buckets = {{0, 10, 50}, {HUGE_VAL, HUGE_VAL, 25}},
                       .nans = 25};
  const AlignedShares one = align(plain, half);
  EXPECT_EQ(one.first, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(one.second, (std::vector<double>{0.5, 0, 0.5}));
  // Not even those of the other side.
  const AlignedShares both = align(half, half);
  EXPECT_EQ(both.first, (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(both.second, (std::vector<double>{0.5, 0, 0.5}));
  EXPECT_THROW(align(plain, Histogram()), Error);
}

// What sampling alone makes of a distance is what is told beforehand.
TEST(Distance, FloorIsWhatSamplesOfOneDistributionDifferBy) {
  const std::vector<double> law = {0.4, 0.3, 0.15, 0.1, 0.05};
  const RandomStream random{.seed = 7};
  std::uint64_t next = 0;
  const auto sample = [&](int count) {
    std::vector<double> shares(law.size());
    for (int i = 0; i < count; ++i) {
      double left = uniform_from(random.word(next++));
      std::size_t place = 0;
      while (place + 1 < law.size() && left >= law[place]) {
        left -= law[place++];
      }
      shares[place] += 1.0 / count;
    }
    return shares;
  };
  for (const char* name : {"l_infinity", "jensen_shannon"}) {
    const DistanceDef& def = distance_registry().get(name);
    double measured = 0;
    double floor = 0;
    constexpr int kRuns = 200;
    for (int i = 0; i < kRuns; ++i) {
      const Distributions given{.first = sample(300),
                                .second = sample(500),
                                .first_count = 300,
                                .second_count = 500};
      measured += def.measure(given).value / kRuns;
      floor += def.floor(given) / kRuns;
    }
    // A maximum is bounded by its floor; a mean is near it.
    EXPECT_GT(floor, 0.8 * measured) << name;
    EXPECT_LT(floor, 2.5 * measured) << name;
  }
}

}  // namespace
}  // namespace weft::distance_test
