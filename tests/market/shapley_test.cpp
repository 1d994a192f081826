// Values of data, against the definition.
#include <gtest/gtest.h>
#include <numeric>
#include <random>

#include "tests/support/errors.h"

#include "weft/market/knn_shapley.h"
#include "weft/market/sampled_shapley.h"

namespace weft::test {
namespace {

using market::knn_shapley;
using market::KnnShapleyOptions;
using market::LabelledPoints;

struct Set {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  LabelledPoints view(std::int64_t width = 1) const {
    return {values, labels, width};
  }
};

// The definition: the mean over all subsets of the others, by their sizes.
std::vector<double> brute_force(const Set& train, const Set& test,
                                std::int64_t k) {
  const auto n = std::ssize(train.labels);
  const auto utility = [&](unsigned subset) {
    std::vector<std::int64_t> rows;
    for (int i = 0; i < n; ++i) {
      if ((subset >> i & 1) != 0) rows.push_back(i);
    }
    return market::knn_utility(train.view(), test.view(), rows, k);
  };
  std::vector<double> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (unsigned subset = 0; subset < 1u << n; ++subset) {
      if ((subset >> i & 1) != 0) continue;
      const int size = std::popcount(subset);
      // size! (n - size - 1)! / n!
      double weight = 1.0 / static_cast<double>(n);
      for (int j = 1; j <= size; ++j) {
        weight *= static_cast<double>(j) / static_cast<double>(n - j);
      }
      values[static_cast<std::size_t>(i)] +=
          weight * (utility(subset | 1u << i) - utility(subset));
    }
  }
  return values;
}

// Distances are small whole numbers, so that many are equal.
Set drawn(std::mt19937& random, int count) {
  Set set;
  for (int i = 0; i < count; ++i) {
    set.values.push_back(static_cast<float>(random() % 5));
    set.labels.push_back(static_cast<std::int32_t>(random() % 3));
  }
  return set;
}

TEST(KnnShapleyTest, HandCase) {
  const Set train{{1, 2, 3}, {1, 0, 1}};
  const Set test{{0}, {1}};
  const auto values = knn_shapley(train.view(), test.view(), {.neighbours = 1});
  EXPECT_NEAR(values[0], 5.0 / 6, 1e-15);
  EXPECT_NEAR(values[1], -1.0 / 6, 1e-15);
  EXPECT_NEAR(values[2], 1.0 / 3, 1e-15);
  const auto shifted = knn_shapley(train.view(), test.view(),
                                   {.neighbours = 1, .begins_at_zero = true});
  EXPECT_NEAR(shifted[0], 0.5, 1e-15);
  EXPECT_NEAR(shifted[1], -0.5, 1e-15);
  EXPECT_NEAR(shifted[2], 0.0, 1e-15);
}

TEST(KnnShapleyTest, IsWhatTheDefinitionSays) {
  std::mt19937 random(3);
  for (int n = 1; n <= 8; ++n) {
    for (std::int64_t k = 1; k <= 4; ++k) {
      const Set train = drawn(random, n);
      const Set test = drawn(random, 3);
      const auto exact =
          knn_shapley(train.view(), test.view(), {.neighbours = k});
      const auto slow = brute_force(train, test, k);
      double sum = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        EXPECT_NEAR(exact[i], slow[i], 1e-12) << n << " " << k << " " << i;
        sum += exact[i];
      }
      std::vector<std::int64_t> all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), std::int64_t{0});
      EXPECT_NEAR(sum, market::knn_utility(train.view(), test.view(), all, k),
                  1e-12);
    }
  }
}

TEST(KnnShapleyTest, IsTheMeanOverTestPoints) {
  std::mt19937 random(4);
  const Set train = drawn(random, 40);
  const Set test = drawn(random, 2);
  const auto both = knn_shapley(train.view(), test.view());
  const auto first =
      knn_shapley(train.view(), Set{{test.values[0]}, {test.labels[0]}}.view());
  const auto second =
      knn_shapley(train.view(), Set{{test.values[1]}, {test.labels[1]}}.view());
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_NEAR(both[i], (first[i] + second[i]) / 2, 1e-14);
  }
}

TEST(KnnShapleyTest, TreatsTwinsAlikeAndGivesNothingForNothing) {
  // Two points of the same label at one place; nobody has the last label.
  const Set train{{2, 2, 5, 7}, {1, 1, 0, 0}};
  const Set test{{1, 6}, {1, 0}};
  const auto values = knn_shapley(train.view(), test.view(), {.neighbours = 2});
  EXPECT_NEAR(values[0], values[1], 1e-15);
  const Set stranger{{1}, {9}};
  for (const double value : knn_shapley(train.view(), stranger.view())) {
    EXPECT_EQ(value, 0);
  }
}

TEST(KnnShapleyTest, SortsAnyDistances) {
  // Widths, sizes and magnitudes at which a sort of bits could go wrong.
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1e3);
  Set train;
  Set test;
  for (int i = 0; i < 300; ++i) {
    train.labels.push_back(i % 2);
    for (int j = 0; j < 7; ++j) {
      train.values.push_back(i % 5 == 0 ? normal(random) * 1e-6f
                                        : normal(random));
    }
  }
  test.labels = {0};
  test.values.assign(train.values.begin(), train.values.begin() + 7);
  const auto values = knn_shapley(train.view(7), test.view(7));
  std::vector<std::pair<float, int>> order;
  for (int i = 0; i < 300; ++i) {
    float sum = 0;
    for (int j = 0; j < 7; ++j) {
      const auto at =
          7 * static_cast<std::size_t>(i) + static_cast<std::size_t>(j);
      const float d =
          train.values[at] - test.values[static_cast<std::size_t>(j)];
      sum += d * d;
    }
    order.emplace_back(sum, i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](auto& a, auto& b) { return a.first < b.first; });
  double value = 0;
  for (int i = 300; i >= 1; --i) {
    const auto match = [&](int place) {
      return order[static_cast<std::size_t>(place - 1)].second % 2 == 0 ? 1.0
                                                                        : 0.0;
    };
    value = i == 300
                ? match(300) / 300
                : value + (match(i) - match(i + 1)) / 10 * std::min(10, i) / i;
    EXPECT_NEAR(values[static_cast<std::size_t>(
                    order[static_cast<std::size_t>(i - 1)].second)],
                value, 1e-12);
  }
}

TEST(KnnShapleyTest, CrossValuesByTheFoldsThatOneTrainsIn) {
  std::mt19937 random(6);
  const Set all = drawn(random, 11);
  const auto values =
      market::cross_validated_knn_shapley(all.view(), 2, {.neighbours = 2});
  Set even;
  Set odd;
  for (std::size_t i = 0; i < 11; ++i) {
    Set& part = i % 2 == 0 ? even : odd;
    part.values.push_back(all.values[i]);
    part.labels.push_back(all.labels[i]);
  }
  const auto of_odd = knn_shapley(odd.view(), even.view(), {.neighbours = 2});
  for (std::size_t i = 0; i < of_odd.size(); ++i) {
    EXPECT_EQ(values[2 * i + 1], of_odd[i]);
  }
}

TEST(KnnShapleyTest, RefusesWhatHasNoPoints) {
  const Set none;
  const Set one{{1}, {0}};
  expect_error(ErrorCode::kInvalidArgument, {"no points"},
               [&] { knn_shapley(none.view(), one.view()); });
  expect_error(ErrorCode::kInvalidArgument, {"no neighbour"},
               [&] { knn_shapley(one.view(), one.view(), {.neighbours = 0}); });
  expect_error(ErrorCode::kInvalidArgument, {"different numbers"},
               [&] { knn_shapley(one.view(2), one.view()); });
  expect_error(ErrorCode::kInvalidArgument, {"folds"},
               [&] { market::cross_validated_knn_shapley(one.view(), 2); });
}

TEST(SampledShapleyTest, ComesNearTheExactValues) {
  std::mt19937 random(8);
  const Set train = drawn(random, 12);
  const Set test = drawn(random, 5);
  const auto exact = knn_shapley(train.view(), test.view(), {.neighbours = 3});
  const market::Utility utility = [&](std::span<const std::int64_t> rows) {
    return market::knn_utility(train.view(), test.view(), rows, 3);
  };
  const auto sampled =
      market::sampled_shapley(12, utility, {.permutations = 4000});
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(sampled[i], exact[i], 0.012) << i;
    sum += sampled[i];
  }
  std::vector<std::int64_t> all(12);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  EXPECT_NEAR(sum, utility(all), 1e-12);
}

TEST(SampledShapleyTest, OfAdditiveGamesIsExact) {
  const market::Utility additive = [](std::span<const std::int64_t> players) {
    double sum = 1;
    for (const std::int64_t player : players) {
      sum += static_cast<double>(player);
    }
    return sum;
  };
  const auto values = market::sampled_shapley(5, additive, {.permutations = 2});
  const auto left_out = market::leave_one_out(5, additive);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(values[i], static_cast<double>(i));
    EXPECT_EQ(left_out[i], static_cast<double>(i));
  }
}

TEST(SampledShapleyTest, StopsWhereNothingIsLeft) {
  int asked = 0;
  const market::Utility first_takes_all =
      [&](std::span<const std::int64_t> players) {
        ++asked;
        return players.empty() ? 0.0 : 1.0;
      };
  market::sampled_shapley(50, first_takes_all,
                          {.permutations = 10, .tolerance = 0.01});
  EXPECT_EQ(asked, 12);
}

}  // namespace
}  // namespace weft::test
