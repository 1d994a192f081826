// How large test sets must be: figures of the paper, and what must hold of any.
#include "weft/gate/plan.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/gate/bennett.h"
#include "weft/gate/binomial.h"

namespace weft::plan_test {
namespace {

GateTerms terms(const char* condition, double reliability,
                Adaptivity adaptivity = Adaptivity::kNone,
                std::int64_t steps = 32) {
  return {.condition = parse_gate_condition(condition),
          .reliability = reliability,
          .adaptivity = adaptivity,
          .steps = steps};
}

std::int64_t hoeffding(const GateTerms& terms) {
  std::int64_t most = 0;
  for (const GateClause& clause : terms.condition.clauses) {
    most = std::max(most, gate_bound_registry()
                              .get("hoeffding")
                              .answer({terms, clause, log_failure(terms)})
                              .value()
                              .points);
  }
  return most;
}

// --- Figures of the paper and of its repository's notebook ---

struct Golden {
  double reliability;
  const char* tolerance;
  std::int64_t one_none, one_full, gain_none, gain_full;
};

class GoldenSizes : public testing::TestWithParam<Golden> {};

TEST_P(GoldenSizes, AreThose) {
  const Golden& golden = GetParam();
  const auto size = [&](const std::string& sum, Adaptivity adaptivity) {
    const std::string condition = sum + " > 0.02 +/- " + golden.tolerance;
    return hoeffding(terms(condition.c_str(), golden.reliability, adaptivity));
  };
  EXPECT_EQ(size("n", Adaptivity::kNone), golden.one_none);
  EXPECT_EQ(size("d", Adaptivity::kNone), golden.one_none);
  EXPECT_EQ(size("n", Adaptivity::kFirstChange), golden.one_none);
  EXPECT_EQ(size("n", Adaptivity::kFull), golden.one_full);
  EXPECT_EQ(size("n - o", Adaptivity::kNone), golden.gain_none);
  EXPECT_EQ(size("n - o", Adaptivity::kFull), golden.gain_full);
}

INSTANTIATE_TEST_SUITE_P(
    Paper, GoldenSizes,
    testing::Values(Golden{0.99, "0.1", 404, 1340, 1753, 5496},
                    Golden{0.99, "0.05", 1615, 5358, 7012, 21'984},
                    Golden{0.999, "0.05", 2075, 5818, 8854, 23'826},
                    Golden{0.9999, "0.025", 10'141, 25'113, 42'782, 102'670},
                    Golden{0.9999, "0.01", 63'381, 156'956, 267'385, 641'684}));

// What the bound takes for the last clause that it knows.
BoundAnswer by(const std::string& bound, const GateTerms& terms) {
  std::optional<BoundAnswer> found;
  for (const GateClause& clause : terms.condition.clauses) {
    for (BoundAnswer& answer : answers_for(terms, clause)) {
      if (answer.bound == bound) found = std::move(answer);
    }
  }
  return found.value();
}

constexpr const char* kSmallDifference =
    "d < 0.08 +/- 0.01 /\\ n - o > 0.02 +/- 0.01";

TEST(GatePlan, IsThePapersForSmallDifferences) {
  EXPECT_EQ(by("small-difference", terms(kSmallDifference, 0.9999)).points,
            29'048);
  EXPECT_EQ(
      by("small-difference", terms(kSmallDifference, 0.9999, Adaptivity::kFull))
          .points,
      67'706);
}

TEST(GatePlan, LabelsTwoThousandPointsOfACommit) {
  const GateTerms once = terms(kSmallDifference, 0.9999, Adaptivity::kNone, 1);
  const BoundAnswer paper = by("small-difference", once);
  EXPECT_EQ(paper.points, 21'889);
  EXPECT_DOUBLE_EQ(paper.difference, 0.1);  // 2,189 labels
  // A tenth of fewer points.
  const GatePlan plan = plan_gate(once);
  EXPECT_EQ(plan.clauses[1].bound, "exact-difference");
  EXPECT_TRUE(plan.labels_differences_only);
  EXPECT_LT(plan.labels_a_commit, 1'500);
}

TEST(GatePlan, IsThePapersForTheHistoryOfEmotions) {
  GateTerms known = terms("n - o > 0.02 +/- 0.02", 0.998, Adaptivity::kNone, 7);
  known.difference = 0.1;
  known.is_difference_known = true;
  EXPECT_EQ(by("implicit-difference", known).points, 4'713);
  EXPECT_EQ(plan_gate(known).baseline, 44'269);
  known.condition = parse_gate_condition("n - o > 0.018 +/- 0.022");
  known.adaptivity = Adaptivity::kFull;
  EXPECT_EQ(by("implicit-difference", known).points, 5'204);
}

TEST(GatePlan, ChecksADifferenceThatIsOnlyExpected) {
  GateTerms expected =
      terms("n - o > 0.02 +/- 0.02", 0.998, Adaptivity::kNone, 7);
  expected.difference = 0.1;
  const BoundAnswer paper = by("implicit-difference", expected);
  // ln(4 · 7 / 0.002) / (0.1 h(0.2)).
  EXPECT_EQ(paper.points, 5'082);
  ASSERT_TRUE(paper.filter);
  // ln(2 · 7 / 0.002) / (2 · 0.02²).
  EXPECT_EQ(paper.filter->points, 11'068);
  EXPECT_DOUBLE_EQ(paper.filter->most, 0.08);
  const GatePlan plan = plan_gate(expected);
  ASSERT_TRUE(plan.clauses[0].filter);
  EXPECT_LT(plan.clauses[0].points, paper.points);
  EXPECT_LT(plan.clauses[0].filter->points, paper.filter->points / 2);
  EXPECT_EQ(plan.points,
            std::max(plan.clauses[0].points, plan.clauses[0].filter->points));
  EXPECT_DOUBLE_EQ(plan.clauses[0].filter->most, 0.08);
  EXPECT_GT(plan.clauses[0].points_without, plan.baseline);
}

TEST(Binomial, IsTighterThanHoeffding) {
  // Hoeffding's numbers are 231, 346 and 1382.
  EXPECT_EQ(tries_for_deviation(0.1, std::log(0.01)), 145);
  EXPECT_EQ(tries_for_deviation(0.1, std::log(0.001)), 249);
  EXPECT_EQ(tries_for_deviation(0.05, std::log(0.001)), 975);
}

TEST(Binomial, FindsWhatACoarseGridMisses) {
  // A grid of fifty p is content with 140 points; others are not.
  EXPECT_GT(log_worst_deviation(140, 0.1), std::log(0.01));
  double worst = 0;
  for (int i = 1; i < 50; ++i) {
    const auto least = 14 + (140 * i) / 50 + 1;
    if (least > 140) break;
    worst = std::max(worst, std::exp(log_binomial_tail(140, i / 50.0, least)));
  }
  EXPECT_LE(worst, 0.01);
}

// --- What must hold ---

TEST(Binomial, TailIsASumOfTerms) {
  const auto slow = [](int tries, double p, int least) {
    double sum = 0;
    for (int k = least; k <= tries; ++k) {
      double term = 1;
      for (int i = 0; i < k; ++i) term *= p * (tries - i) / (k - i);
      sum += term * std::pow(1 - p, tries - k);
    }
    return std::log(sum);
  };
  for (const double p : {0.01, 0.3, 0.5, 0.9}) {
    for (const int least : {28, 29, 30}) {
      EXPECT_NEAR(log_binomial_tail(30, p, least), slow(30, p, least), 1e-9);
    }
  }
}

// Every p of a fine grid is at most as bad as what is said to be the worst.
TEST(Binomial, WorstCaseIsTheWorst) {
  for (const std::int64_t tries : {37, 140, 239}) {
    double worst = -1e300;
    for (int i = 1; i < 20'000; ++i) {
      const double p = i / 20'000.0;
      const auto least = static_cast<std::int64_t>(std::floor(
                             static_cast<double>(tries) * (p + 0.1) + 1e-9)) +
                         1;
      if (least > tries) break;
      worst = std::max(worst, log_binomial_tail(tries, p, least));
    }
    EXPECT_LE(worst, log_worst_deviation(tries, 0.1));
    EXPECT_NEAR(worst, log_worst_deviation(tries, 0.1), 0.02);
  }
}

TEST(Bennett, HasItsDigitsForSmallArguments) {
  for (const double u : {1e-12, 1e-6, 1e-3, 0.049, 0.051}) {
    const long double wide = u;
    const long double series = wide * wide / 2 - wide * wide * wide / 6;
    const long double exact = u < 1e-4 ? series + wide * wide * wide * wide / 12
                                       : (1 + wide) * std::log1p(wide) - wide;
    EXPECT_NEAR(bennett_h(u) / static_cast<double>(exact), 1, 1e-13) << u;
  }
  // A tolerance above the variance, and one that is far above it.
  EXPECT_NEAR(bennett_h(1), 2 * std::log(2.0) - 1, 1e-15);
  EXPECT_TRUE(std::isfinite(bennett_rate(1e-300, 0.5)));
  EXPECT_GT(bennett_rate(1e-300, 0.5), 1);
}

TEST(GatePlan, GrowsWithWhatIsAsked) {
  const auto size = [](const char* condition, double reliability,
                       Adaptivity adaptivity, std::int64_t steps) {
    return plan_gate(terms(condition, reliability, adaptivity, steps)).points;
  };
  const auto none = Adaptivity::kNone;
  const auto full = Adaptivity::kFull;
  for (const char* condition : {"n > 0.8 +/- 0.05", "n - o > 0.02 +/- 0.05",
                                kSmallDifference, "n > 0.95 +/- 0.01"}) {
    const std::int64_t base = size(condition, 0.99, none, 8);
    EXPECT_GT(size(condition, 0.999, none, 8), base);
    EXPECT_GT(size(condition, 0.99, none, 16), base);
    EXPECT_GT(size(condition, 0.99, full, 8), base);
  }
  EXPECT_GT(size("n > 0.8 +/- 0.04", 0.99, none, 8),
            size("n > 0.8 +/- 0.05", 0.99, none, 8));
  EXPECT_GT(size("n - 1.1 * o > 0.02 +/- 0.05", 0.99, none, 8),
            size("n - o > 0.02 +/- 0.05", 0.99, none, 8));
}

TEST(GatePlan, IsAtLeastThatOfEachClause) {
  const GateTerms both =
      terms("n > 0.8 +/- 0.05 /\\ n - o > 0.02 +/- 0.05", 0.99);
  for (const char* clause : {"n > 0.8 +/- 0.05", "n - o > 0.02 +/- 0.05"}) {
    EXPECT_GE(plan_gate(both).points, plan_gate(terms(clause, 0.995)).points);
  }
}

TEST(GatePlan, DoesNotChangeWithTheScale) {
  for (const auto& [plain, scaled] :
       {std::pair("n - o > 0.02 +/- 0.05", "2 * n - 2 * o > 0.04 +/- 0.1"),
        std::pair("n > 0.8 +/- 0.05", "0.5 * n > 0.4 +/- 0.025"),
        std::pair("n > 0.95 +/- 0.01", "-2 * n < -1.9 +/- 0.02")}) {
    EXPECT_EQ(plan_gate(terms(plain, 0.99)).points,
              plan_gate(terms(scaled, 0.99)).points);
  }
}

TEST(GatePlan, NeverNeedsMoreThanHoeffding) {
  for (const char* condition :
       {"n > 0.5 +/- 0.05", "n > 0.99 +/- 0.001", "d < 0.01 +/- 0.2",
        "n - o > 0 +/- 0.3 /\\ d < 0.9 +/- 0.01", kSmallDifference}) {
    for (const std::int64_t steps : {1, 32, 1000}) {
      const GateTerms asked = terms(condition, 0.999, Adaptivity::kFull, steps);
      EXPECT_LE(plan_gate(asked).points, hoeffding(asked)) << condition;
    }
  }
}

TEST(GatePlan, DoesNotUnderflow) {
  // 2^-1000 / 1e4 has no double.
  const GateTerms long_life =
      terms("n > 0.8 +/- 0.05", 0.9999, Adaptivity::kFull, 2000);
  EXPECT_NEAR(log_failure(long_life),
              -2000 * std::log(2.0) - 4 * std::log(10.0), 1e-6);
  EXPECT_GT(by("hoeffding", long_life).points, 200'000);
  EXPECT_GT(plan_gate(long_life).points, 150'000);
  EXPECT_LE(plan_gate(long_life).points, hoeffding(long_life));
}

TEST(GatePlan, NeedsAllLabelsWhereTheModelsDoNotCancel) {
  EXPECT_FALSE(plan_gate(terms("n - 1.1 * o > 0 +/- 0.05", 0.99))
                   .labels_differences_only);
  EXPECT_FALSE(
      plan_gate(terms("n > 0.8 +/- 0.05", 0.99)).labels_differences_only);
  const GatePlan unlabelled = plan_gate(terms("d < 0.1 +/- 0.05", 0.99));
  EXPECT_EQ(unlabelled.labelled, 0);
  EXPECT_GT(unlabelled.points, 0);
}

TEST(GatePlan, SaysWhatIsImpractical) {
  const GatePlan plan =
      plan_gate(terms("n - o > 0.02 +/- 0.01", 0.9999, Adaptivity::kFull));
  ASSERT_EQ(plan.hints.size(), 2u);
  EXPECT_NE(plan.hints[0].find("641684 labels"), std::string::npos);
  EXPECT_NE(plan.hints[1].find("d < 0.1"), std::string::npos);
  test::expect_error(ErrorCode::kInvalidArgument, {"no test set"},
                     [] { plan_gate(terms("n > 0.5 +/- 0.000000001", 0.99)); });
}

}  // namespace
}  // namespace weft::plan_test
