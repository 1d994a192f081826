// Robust aggregation rules by themselves: values computed by hand, references
// without vectors, and what they promise against workers that lie.
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/rule_steps.h"

#include "weft/base/parallel.h"
#include "weft/base/philox.h"
#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/krum.h"
#include "weft/train/sync/pair_distances.h"
#include "weft/train/sync/sorting_network.h"

namespace weft::robust_rules_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Rows = std::vector<std::vector<float>>;

Rows scalars(const std::vector<float>& values) {
  Rows rows;
  for (const float value : values) rows.push_back({value});
  return rows;
}

Rows normals(std::size_t rows, std::size_t size, std::uint64_t seed = 3) {
  Rows result(rows, std::vector<float>(size));
  for (std::size_t row = 0; row < rows; ++row) {
    const RandomStream random{seed, static_cast<std::uint32_t>(row), 0};
    for (std::size_t i = 0; i < size; ++i) {
      const auto words = random.block(i);
      result[row][i] = normal_from(words[0], words[1])[0];
    }
  }
  return result;
}

std::vector<Contribution> contributions(const Rows& rows) {
  std::vector<Contribution> arrived;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    arrived.push_back({static_cast<int>(i), rows[i]});
  }
  return arrived;
}

std::vector<double> distances_of(const Rows& rows) {
  std::vector<double> distances(pairs_of(rows.size()));
  add_pair_distances(contributions(rows), distances);
  return distances;
}

// What stands for the mean, by a rule as a recipe has it.
std::vector<float> combined(const std::string& text, const Rows& rows) {
  const std::vector<float> parameters(rows[0].size(), 0.0f);
  return test::RuleSteps(text, static_cast<int>(rows.size()), rows[0].size())
      .mean_of(rows, parameters);
}

const std::vector<float> kSeven{1.0f, 1.1f, 0.9f, 1.2f, 0.8f, 10, -10};
const std::vector<float> kBothAbove{1.0f, 1.1f, 0.9f, 1.2f, 0.8f, 10, 10};
// Each rule with f = 2 of 7 workers, or 11 for the one that wants more.
const std::vector<std::string> kRules{
    "krum(2)",   "multi_krum(2)",      "median",   "trimmed_mean(2)",
    "phocas(2)", "averaged_median(2)", "bulyan(2)"};

// --- Hand cases (Damaskinos et al. by our notes) -----------------------------

TEST(RobustRules, KrumScoresByHand) {
  const auto scores = krum_scores(distances_of(scalars(kSeven)), 7, 2);
  const std::vector<double> expected{.06, .06, .06, .14, .14, 237.65, 356.45};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_NEAR(scores[i], expected[i], 1e-4) << i;
  }
  // The lower ranks win where scores are equal.
  EXPECT_EQ(smallest_scores(std::vector<double>{2, 1, 2, 1}, 3),
            (std::vector<std::size_t>{1, 3, 0}));
}

TEST(RobustRules, SevenScalarsByHand) {
  for (const auto& values : {kSeven, kBothAbove}) {
    const Rows rows = scalars(values);
    EXPECT_NEAR(combined("multi_krum(2, m=3)", rows)[0], 1.0, 1e-6);
    EXPECT_FLOAT_EQ(combined("krum(2)", rows)[0], 1.0f);
  }
  const Rows rows = scalars(kSeven);
  EXPECT_FLOAT_EQ(combined("median", rows)[0], 1.0f);
  EXPECT_FLOAT_EQ(combined("trimmed_mean(2)", rows)[0], 1.0f);
  EXPECT_FLOAT_EQ(combined("averaged_median(2)", rows)[0], 1.0f);
  EXPECT_FLOAT_EQ(combined("phocas(2)", rows)[0], 1.0f);
  EXPECT_NEAR(combined("average_nan", rows)[0], 5.0 / 7, 1e-6);
  EXPECT_NEAR(combined("average_nan", scalars(kBothAbove))[0], 25.0 / 7, 1e-6);
}

TEST(RobustRules, BulyanByHand) {
  const Rows rows = scalars({1.0f, 1.1f, 0.9f, 1.2f, 0.8f, 1.05f, 10});
  const auto rounds = bulyan_rounds(distances_of(rows), 7, 1);
  ASSERT_EQ(rounds.size(), 3u);
  std::vector<double> means;
  for (const auto& round : rounds) {
    double sum = 0;
    for (const std::size_t i : round) sum += static_cast<double>(rows[i][0]);
    means.push_back(sum / static_cast<double>(round.size()));
  }
  EXPECT_NEAR(means[0], 1.0125, 1e-6);
  EXPECT_NEAR(means[1], 1, 1e-6);
  EXPECT_NEAR(means[2], 1, 1e-6);
  EXPECT_NEAR(combined("bulyan(1)", rows)[0], 1, 1e-6);
}

TEST(RobustRules, MeanOfWhatIsFinite) {
  const std::vector<float> result =
      combined("average_nan",
               {{1, kNan, kNan}, {kNan, 4, kInfinity}, {3, 8, -kInfinity}});
  EXPECT_EQ(result, (std::vector<float>{2, 6, 0}));
}

// --- Against plain references ------------------------------------------------

TEST(RobustRules, NetworksSort) {
  // A network that sorts zeros and ones sorts all (Knuth, section 5.3.4).
  for (std::size_t size = 1; size <= 11; ++size) {
    for (std::size_t first = 0; first < size; ++first) {
      const std::size_t last = std::min(size, first + 1 + size / 3);
      const SortingNetwork network(size, first, last);
      for (std::uint32_t bits = 0; bits < (1u << size); ++bits) {
        std::vector<int> values(size);
        for (std::size_t i = 0; i < size; ++i) values[i] = (bits >> i) & 1;
        auto sorted = values;
        std::ranges::sort(sorted);
        for (const auto& [low, high] : network.comparisons()) {
          ASSERT_LT(low, high);
          if (values[high] < values[low]) std::swap(values[low], values[high]);
        }
        for (std::size_t i = first; i < last; ++i) {
          ASSERT_EQ(values[i], sorted[i]) << size << " " << bits;
        }
      }
    }
  }
  EXPECT_LT(SortingNetwork(19, 9, 10).comparisons().size(),
            SortingNetwork(19, 0, 19).comparisons().size());
}

double plain_closest(std::vector<double> values, Middle middle,
                     std::size_t kept) {
  std::ranges::sort(values);
  double center = 0;
  for (std::size_t i = middle.first; i < middle.last; ++i) center += values[i];
  center = static_cast<double>(static_cast<float>(
      center / static_cast<double>(middle.last - middle.first)));
  std::ranges::stable_sort(
      values, {}, [&](double value) { return std::abs(value - center); });
  return std::accumulate(values.begin(),
                         values.begin() + static_cast<std::ptrdiff_t>(kept),
                         0.0) /
         static_cast<double>(kept);
}

TEST(RobustRules, EntriesAreThoseOfAPlainSort) {
  for (const std::size_t count : {3u, 4u, 7u, 19u, 32u, 41u}) {
    // Not a whole number of vectors.
    const Rows rows = normals(count, 333);
    const auto arrived = contributions(rows);
    const std::size_t trim = (count - 1) / 3;
    std::vector<float> middle(333), closest(333);
    mean_of_middle(arrived, trimmed(count, trim), 1, middle);
    mean_of_closest(arrived, median_of(count), count - trim, 1, closest);
    for (std::size_t i = 0; i < middle.size(); ++i) {
      std::vector<double> values;
      for (const auto& row : rows) {
        values.push_back(static_cast<double>(row[i]));
      }
      EXPECT_NEAR(static_cast<double>(closest[i]),
                  plain_closest(values, median_of(count), count - trim), 1e-6)
          << count << " " << i;
      std::ranges::sort(values);
      const double sum = std::accumulate(
          values.begin() + static_cast<std::ptrdiff_t>(trim),
          values.end() - static_cast<std::ptrdiff_t>(trim), 0.0);
      EXPECT_NEAR(static_cast<double>(middle[i]),
                  sum / static_cast<double>(count - 2 * trim), 1e-6);
    }
  }
}

TEST(RobustRules, DistancesAreThoseOfDifferences) {
  Rows rows = normals(9, 40'000);
  // Two that are close beside their length, two that are equal, one that is
  // tiny, one that is lost.
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    rows[1][i] = rows[0][i] * (1 + 1e-4f);
    rows[3][i] = rows[2][i];
    rows[4][i] *= 1e-22f;
    rows[5][i] = rows[4][i] * 3;
  }
  rows[8][77] = kNan;
  const auto distances = distances_of(rows);
  for (std::size_t b = 1; b < rows.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      double expected = 0;
      for (std::size_t i = 0; i < rows[a].size(); ++i) {
        const double apart =
            static_cast<double>(rows[a][i]) - static_cast<double>(rows[b][i]);
        expected += apart * apart;
      }
      const double found = distances[pair_index(a, b)];
      if (b == 8) {
        EXPECT_TRUE(std::isinf(found)) << a;
        EXPECT_TRUE(std::isinf(squared_distance(rows[a], rows[b])));
        continue;
      }
      EXPECT_NEAR(found, expected, 1e-4 * expected) << a << " " << b;
      EXPECT_NEAR(squared_distance(rows[a], rows[b]), expected,
                  1e-9 * expected);
    }
  }
  EXPECT_EQ(distances[pair_index(2, 3)], 0);
  // One that stops early says only that there is more.
  EXPECT_GT(squared_distance(rows[0], rows[6], 5), 5);
}

// What Bulyan keeps from round to round is what it would compute anew.
TEST(RobustRules, BulyanRoundsAreThoseOfARecomputation) {
  constexpr std::size_t kWorkers = 19;
  constexpr std::size_t kWrong = 4;
  Rows rows = normals(kWorkers, 50);
  for (float& value : rows[5]) value = kInfinity;
  const auto distances = distances_of(rows);
  const auto rounds = bulyan_rounds(distances, kWorkers, kWrong);
  ASSERT_EQ(rounds.size(), kWorkers - 2 * kWrong - 2);
  // The neighbours that count are those of the beginning.
  std::vector<std::vector<std::size_t>> neighbours(kWorkers);
  for (std::size_t i = 0; i < kWorkers; ++i) {
    for (std::size_t j = 0; j < kWorkers; ++j) {
      if (j != i) neighbours[i].push_back(j);
    }
    std::ranges::stable_sort(neighbours[i], {}, [&](std::size_t j) {
      return distances[pair_index(i, j)];
    });
    neighbours[i].resize(kWorkers - kWrong - 2);
  }
  std::vector<bool> has_left(kWorkers);
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    std::vector<std::pair<double, std::size_t>> scores;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (has_left[i]) continue;
      double score = 0;
      for (const std::size_t j : neighbours[i]) {
        if (!has_left[j]) score += distances[pair_index(i, j)];
      }
      scores.emplace_back(score, i);
    }
    std::ranges::sort(scores);
    std::vector<std::size_t> best;
    for (std::size_t i = 0; i < kWorkers - kWrong - 2 - k; ++i) {
      best.push_back(scores[i].second);
    }
    std::ranges::sort(best);
    EXPECT_EQ(rounds[k], best) << k;
    has_left[scores[0].second] = true;
  }
}

// --- Properties
// ---------------------------------------------------------------

std::size_t workers_for(const std::string& rule) {
  return rule.starts_with("bulyan") ? 11 : 7;
}

TEST(RobustRules, AreNumbersInAnyOrderAndPlace) {
  for (const std::string& rule : kRules) {
    const Rows rows = normals(workers_for(rule), 40);
    const std::vector<float> result = combined(rule, rows);
    Rows turned = rows;
    std::ranges::reverse(turned);
    Rows moved = rows;
    Rows scaled = rows;
    for (auto& row : moved) {
      for (float& value : row) value += 0.25f;
    }
    for (auto& row : scaled) {
      for (float& value : row) value *= 4;
    }
    const auto of_turned = combined(rule, turned);
    const auto of_moved = combined(rule, moved);
    const auto of_scaled = combined(rule, scaled);
    for (std::size_t i = 0; i < result.size(); ++i) {
      EXPECT_NEAR(of_turned[i], result[i], 1e-6) << rule;
      EXPECT_NEAR(of_moved[i], result[i] + 0.25f, 1e-5) << rule;
      EXPECT_FLOAT_EQ(of_scaled[i], 4 * result[i]) << rule;
    }
    const Rows same(workers_for(rule), rows[0]);
    const auto of_same = combined(rule, same);
    for (std::size_t i = 0; i < result.size(); ++i) {
      EXPECT_FLOAT_EQ(of_same[i], rows[0][i]) << rule;
    }
  }
}

TEST(RobustRules, WithoutWrongWorkersMultiKrumIsTheMeanToTheBit) {
  const Rows rows = normals(5, 100);
  EXPECT_EQ(combined("multi_krum(f=0, m=5)", rows), combined("mean", rows));
}

// Up to f may send what they like: the result is finite, and no farther from a
// right gradient than those are from each other; by rules of single entries it
// lies between them.
TEST(RobustRules, BearWhatFWorkersSend) {
  for (const std::string& rule : kRules) {
    const std::size_t workers = workers_for(rule);
    const Rows right = normals(workers - 2, 30);
    double apart = 0;
    for (const auto& a : right) {
      for (const auto& b : right) {
        apart = std::max(apart, squared_distance(a, b));
      }
    }
    for (const float lie :
         {kNan, kInfinity, -kInfinity, 1e38f, -1e38f, 50.0f, -3.0f, 0.0f}) {
      for (const bool is_copy : {false, true}) {
        Rows rows = right;
        rows.push_back(is_copy ? right[0] : std::vector<float>(30, lie));
        rows.push_back(std::vector<float>(30, lie));
        const auto result = combined(rule, rows);
        double nearest = std::numeric_limits<double>::infinity();
        for (const auto& each : right) {
          nearest = std::min(nearest, squared_distance(each, result));
        }
        EXPECT_LE(nearest, apart) << rule << " " << lie;
        if (rule != "median" && !rule.starts_with("trimmed")) continue;
        for (std::size_t i = 0; i < result.size(); ++i) {
          std::vector<float> values;
          for (const auto& each : right) values.push_back(each[i]);
          EXPECT_GE(result[i], std::ranges::min(values)) << rule << lie;
          EXPECT_LE(result[i], std::ranges::max(values)) << rule << lie;
        }
      }
    }
  }
}

TEST(RobustRules, KrumSendsOneOfItsInputs) {
  Rows rows = normals(9, 20);
  rows[2].assign(20, kNan);
  const auto result = combined("krum(3)", rows);
  int equal = 0;
  for (const auto& row : rows) {
    bool is_equal = true;
    for (std::size_t i = 0; i < row.size(); ++i) {
      is_equal &= std::abs(row[i] - result[i]) < 1e-6f;
    }
    equal += is_equal ? 1 : 0;
  }
  EXPECT_EQ(equal, 1);
}

// The limit of what is promised: two are found out where they agree on a place
// aside, and three are not, as they are each other's nearest.
TEST(RobustRules, OneLiarTooManyDefeatsKrum) {
  Rows rows = normals(7, 20);
  for (std::size_t i = 5; i < 7; ++i) rows[i].assign(20, 1.9f);
  EXPECT_GT(squared_distance(combined("krum(2)", rows), rows[6]), 10);
  rows[4].assign(20, 1.9f);
  EXPECT_LT(squared_distance(combined("krum(2)", rows), rows[6]), 1e-9);
}

// A liar that moves one entry as far as Multi-Krum still selects it: Bulyan
// keeps the entry within what right workers say.
TEST(RobustRules, OnlyBulyanBearsTheHiddenVulnerability) {
  constexpr std::size_t kSize = 2000;
  Rows rows = normals(11, kSize);
  double most = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    most = std::max(most, std::abs(static_cast<double>(rows[i][7])));
  }
  // Within the distance of any two right ones, which grows with the dimension.
  for (std::size_t i = 9; i < 11; ++i) {
    rows[i].assign(kSize, 0);
    rows[i][7] = 0.6f * std::sqrt(static_cast<float>(kSize));
  }
  EXPECT_GT(std::abs(combined("multi_krum(2)", rows)[7]), most);
  EXPECT_LE(std::abs(static_cast<double>(combined("bulyan(2)", rows)[7])),
            most);
}

TEST(RobustRules, AreTheSameByAnyNumberOfThreads) {
  for (const std::string& rule : kRules) {
    const Rows rows = normals(workers_for(rule), 70'001);
    set_thread_count(1);
    const auto one = combined(rule, rows);
    set_thread_count(2);
    EXPECT_EQ(combined(rule, rows), one) << rule;
  }
}

TEST(RobustRules, NumbersThatProveNothingAreRefused) {
  const auto refusal = [](const char* rule, int workers,
                          const char* policy = "server") {
    SyncRecipe recipe;
    recipe.rule = rule;
    recipe.policy = policy;
    return message_of([&] { check_ranks(recipe, workers); });
  };
  EXPECT_THAT(refusal("krum(2)", 6),
              HasSubstr("'krum(2)' declines 6 workers, because 2 of them may "
                        "be wrong, which takes n >= 2 f + 3 = 7"));
  EXPECT_THAT(refusal("krum(2)", 6), HasSubstr("7 workers, or f = 1"));
  EXPECT_THAT(refusal("bulyan(2)", 10), HasSubstr("n >= 4 f + 3 = 11"));
  EXPECT_THAT(refusal("bulyan(2)", 10), HasSubstr("11 workers, or f = 1"));
  EXPECT_THAT(refusal("multi_krum(2, m=4)", 7),
              HasSubstr("at most n - f - 2 = 3 can be"));
  EXPECT_THAT(refusal("phocas(2)", 4), HasSubstr("n >= 2 f + 1 = 5"));
  EXPECT_THAT(refusal("averaged_median(2)", 4),
              HasSubstr("5 workers, or f = 1"));
  EXPECT_THAT(refusal("bulyan(1)", 7, "server(quorum=6)"),
              HasSubstr("6 workers"));
  constexpr const char* kFine = "nothing was thrown";
  EXPECT_EQ(refusal("krum(2)", 7), kFine);
  EXPECT_EQ(refusal("bulyan(2)", 11), kFine);
  EXPECT_EQ(refusal("multi_krum(2, m=3)", 7), kFine);
  EXPECT_EQ(refusal("multi_krum(f=0, m=5)", 5), kFine);
}

}  // namespace
}  // namespace weft::robust_rules_test
