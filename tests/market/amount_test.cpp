// Money that is split, and examples that are named.
#include "weft/market/amount.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

#include "tests/support/errors.h"

#include "weft/market/subset.h"

namespace weft::market {
namespace {

using weft::test::expect_error;
using Amounts = std::vector<Amount>;

TEST(SplitTest, GivesWhatIsLeftToTheLargestRemainders) {
  EXPECT_EQ(split_by(1001, Amounts{100, 300}), (Amounts{250, 751}));
  EXPECT_EQ(split_by(10, Amounts{1, 1, 1}), (Amounts{4, 3, 3}));
  EXPECT_EQ(split_by(0, Amounts{5, 0}), (Amounts{0, 0}));
  EXPECT_EQ(split_by(7, Amounts{0, 3}), (Amounts{0, 7}));
  EXPECT_EQ(split_by(kMostAmount, Amounts{kMostAmount, kMostAmount}),
            (Amounts{kMostAmount / 2 + 1, kMostAmount / 2}));
}

TEST(SplitTest, LosesAndMakesNothing) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    Amounts weights(1 + random() % 9);
    for (Amount& weight : weights) {
      weight = static_cast<Amount>(random() % (std::uint64_t{1} << 50));
    }
    weights[0] += 1;
    const auto total = static_cast<Amount>(random() % (std::uint64_t{1} << 52));
    const Amounts parts = split_by(total, weights);
    const long double sum =
        std::accumulate(weights.begin(), weights.end(), 0.0L);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), Amount{0}), total);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const long double due = static_cast<long double>(total) *
                              static_cast<long double>(weights[i]) / sum;
      EXPECT_NEAR(static_cast<double>(static_cast<long double>(parts[i]) - due),
                  0.0, 1.001);
    }
  }
}

TEST(AmountTest, RefusesMoreThanThereMayBe) {
  EXPECT_EQ(sum_of(kMostAmount - 1, 1, "money"), kMostAmount);
  expect_error(ErrorCode::kInvalidArgument, {"money"},
               [] { sum_of(kMostAmount, 1, "money"); });
  EXPECT_EQ(scaled(kMostAmount, kMostAmount, kMostAmount, "x"), kMostAmount);
  expect_error(ErrorCode::kInvalidArgument, {"the price"},
               [] { scaled(kMostAmount, 2, 1, "the price"); });
}

std::vector<std::int64_t> reads(std::string_view subset) {
  const std::vector<std::int64_t> sizes{10, 0, 5};
  return examples_by_shard(parse_subset(subset, 15), sizes);
}

TEST(SubsetTest, CountsEachExampleOnce) {
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(reads(""), (Counts{10, 0, 5}));
  EXPECT_EQ(reads("5"), (Counts{1, 0, 0}));
  EXPECT_EQ(reads("3-7,9"), (Counts{6, 0, 0}));
  EXPECT_EQ(reads("8-12,3,0-3,12"), (Counts{6, 0, 3}));
  EXPECT_EQ(parse_subset("4,3,5-5", 15), (std::vector<ExampleRange>{{3, 5}}));
}

TEST(SubsetTest, RefusesWhatNamesNothing) {
  for (const char* text : {"7-3", "15", "3-15", "a", "1,", ",1", "-3", "2-",
                           "1--2", "1 ", "+1", "99999999999999999999"}) {
    expect_error(ErrorCode::kInvalidArgument, {"subset"},
                 [&] { parse_subset(text, 15); });
  }
}

}  // namespace
}  // namespace weft::market
