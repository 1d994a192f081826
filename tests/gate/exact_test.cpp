// Exact probabilities at the threshold of a clause: against sums over all
// outcomes, against other models of the same side, and what they save.
#include <cmath>
#include <gtest/gtest.h>

#include "weft/gate/binomial.h"
#include "weft/gate/plan.h"
#include "weft/gate/trinomial.h"

namespace weft::exact_test {
namespace {

// The distribution of the sum of `tries` numbers 1, 0 and -1, from -tries on.
std::vector<double> distribution(int tries, double up, double down) {
  std::vector<double> shares{1};
  for (int i = 0; i < tries; ++i) {
    std::vector<double> next(shares.size() + 2);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      next[k] += down * shares[k];
      next[k + 1] += (1 - up - down) * shares[k];
      next[k + 2] += up * shares[k];
    }
    shares = std::move(next);
  }
  return shares;
}

double tail(int tries, double up, double down, std::int64_t least) {
  const std::vector<double> shares = distribution(tries, up, down);
  double sum = 0;
  for (std::size_t k = shares.size(); k-- > 0;) {
    if (static_cast<std::int64_t>(k) - tries >= least) sum += shares[k];
  }
  return sum;
}

TEST(GainTail, IsASumOverAllOutcomes) {
  for (const auto& [up, down] :
       {std::pair(0.05, 0.05), std::pair(0.2, 0.1), std::pair(0.3, 0.36)}) {
    for (const int tries : {40, 150}) {
      const double mean = tries * (up - down);
      for (const double above : {6.0, 12.0, 25.0}) {
        const auto least =
            std::max<std::int64_t>(std::llround(mean + above), 1);
        EXPECT_NEAR(log_gain_tail(tries, up, down, least),
                    std::log(tail(tries, up, down, least)), 1e-8)
            << tries << " " << up << " " << least;
      }
    }
  }
}

// Whatever model does not gain more than it must, or differs less: none is
// found above the threshold more often than the one that the size is for.
TEST(GainTail, IsWorstWhereModelsDifferMostAtTheThreshold) {
  constexpr double kDifference = 0.2;
  constexpr double kTolerance = 0.1;
  for (const double gain : {0.0, 0.02, -0.05}) {
    const auto tries =
        tries_for_gain(gain, kTolerance, kDifference, std::log(0.01));
    ASSERT_TRUE(tries);
    const auto count = static_cast<int>(*tries);
    const std::int64_t least = count_above(*tries, gain + kTolerance);
    const double worst = std::exp(log_gain_tail(
        *tries, (kDifference + gain) / 2, (kDifference - gain) / 2, least));
    EXPECT_LE(worst, 0.01);
    for (double up = 0; up <= kDifference; up += 0.01) {
      for (double down = std::max(0.0, up - gain); up + down <= kDifference;
           down += 0.01) {
        EXPECT_LE(tail(count, up, down, least), worst * (1 + 1e-9))
            << up << " " << down;
      }
    }
    // With a tenth fewer points it would not hold.
    const std::int64_t fewer = *tries * 9 / 10;
    EXPECT_GT(
        log_gain_tail(fewer, (kDifference + gain) / 2, (kDifference - gain) / 2,
                      count_above(fewer, gain + kTolerance)),
        std::log(0.01));
  }
}

TEST(GainTail, IsNotKnownForAll) {
  const double risk = std::log(0.01);
  EXPECT_FALSE(tries_for_gain(0.02, 0.01, 0.7, risk));      // differ too much
  EXPECT_FALSE(tries_for_gain(0.2, 0.01, 0.1, risk));       // nothing gains so
  EXPECT_FALSE(tries_for_gain(-0.05, 0.01, 0.1, risk));     // may well be lower
  EXPECT_FALSE(tries_for_gain(0.02, 0.000001, 0.1, risk));  // too many
}

TEST(AtShare, IsTheLeastThatHolds) {
  for (const double share : {0.05, 0.5, 0.9}) {
    const double risk = std::log(0.001);
    const auto tries = tries_at_share(share, 0.04, risk);
    ASSERT_TRUE(tries);
    const auto log_tail = [&](std::int64_t n, double p) {
      return log_binomial_tail(n, p, count_above(n, share + 0.04));
    };
    EXPECT_LE(log_tail(*tries, share), risk);
    // It is worst at the threshold.
    for (double p = 0.01; p < share; p += 0.01) {
      EXPECT_LE(log_tail(*tries, p), log_tail(*tries, share));
    }
    EXPECT_GT(log_tail(*tries * 9 / 10, share), risk);
  }
  // Half of Hoeffding's 2,159 for a share of a half is chance; near one it is
  // the variance.
  EXPECT_LT(*tries_at_share(0.9, 0.04, std::log(0.001)), 700);
  EXPECT_LE(*tries_at_share(0.5, 0.04, std::log(0.001)), 1600);
}

GateTerms terms(const char* condition, GateMode mode) {
  return {.condition = parse_gate_condition(condition),
          .reliability = 0.999,
          .mode = mode,
          .adaptivity = Adaptivity::kNone,
          .steps = 8};
}

std::int64_t exact(const char* condition, GateMode mode) {
  const GateTerms all = terms(condition, mode);
  for (const BoundAnswer& answer :
       answers_for(all, all.condition.clauses.back())) {
    if (answer.bound.starts_with("exact")) return answer.points;
  }
  return 0;
}

// What one mode must not do with `>` the other must not with `<`, and of a
// share what of its complement.
TEST(Exact, LooksAtTheTailThatIsPromised) {
  const auto fp = GateMode::kFpFree;
  const auto fn = GateMode::kFnFree;
  EXPECT_EQ(exact("n > 0.9 +/- 0.03", fp), exact("n < 0.9 +/- 0.03", fn));
  EXPECT_EQ(exact("n > 0.9 +/- 0.03", fn), exact("n < 0.9 +/- 0.03", fp));
  EXPECT_EQ(exact("n > 0.9 +/- 0.03", fp), exact("n < 0.1 +/- 0.03", fp));
  EXPECT_NE(exact("n > 0.9 +/- 0.03", fp), exact("n > 0.9 +/- 0.03", fn));
  EXPECT_EQ(exact("d < 0.1 +/- 0.02 /\\ n - o > 0.02 +/- 0.02", fp),
            exact("d < 0.1 +/- 0.02 /\\ o - n < -0.02 +/- 0.02", fp));
  // Nothing is found above one: other bounds say how many points that takes.
  EXPECT_EQ(exact("n > 0.98 +/- 0.03", fp), 0);
  EXPECT_GT(exact("n > 0.98 +/- 0.03", fn), 0);
}

TEST(Exact, TakesAFractionOfWhatThePaperTakes) {
  // Where a share is near one, a fourth of the worst case's.
  const GateTerms near_one = terms("n > 0.95 +/- 0.02", GateMode::kFpFree);
  const GatePlan plan = plan_gate(near_one);
  EXPECT_EQ(plan.clauses[0].bound, "exact");
  EXPECT_LT(4 * plan.points, plan.baseline);
  const GateTerms gain =
      terms("d < 0.08 +/- 0.01 /\\ n - o > 0.02 +/- 0.01", GateMode::kFpFree);
  const GatePlan small = plan_gate(gain);
  EXPECT_LT(10 * small.labelled, 7 * 29'048);
  // The clause of d is no longer what takes most points.
  EXPECT_LT(small.points, 2 * small.labelled);
}

}  // namespace
}  // namespace weft::exact_test
