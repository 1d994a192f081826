#include "weft/concurrent/conflict/delay_law.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <vector>

#include "tests/support/errors.h"

#include "weft/concurrent/conflict/ski_rental.h"

namespace weft::concurrent::delay_law_test {
namespace {

constexpr double kE = std::numbers::e;
constexpr auto kWins = Protocol::kRequestorWins;
constexpr auto kAborts = Protocol::kRequestorAborts;

// The sum of f over [low, high] by Simpson's rule.
template <class F>
double integral(double low, double high, const F& f) {
  constexpr int kPieces = 4000;
  const double step = (high - low) / kPieces;
  double sum = f(low) + f(high);
  for (int i = 1; i < kPieces; ++i)
    sum += (i % 2 == 0 ? 2 : 4) * f(low + i * step);
  return sum * step / 3;
}

double expected_cost(const DelayLaw& law, double remaining) {
  const double longest = law.stakes().longest_delay();
  const double met = std::min(remaining, longest);
  const auto piece = [&](double low, double high, bool ends) {
    return integral(low, high, [&](double x) {
      // At x = remaining both sides meet: take the one of this piece.
      const double cost =
          ends ? conflict_cost(law.stakes(), remaining, remaining)
               : conflict_cost(law.stakes(),
                               std::numeric_limits<double>::infinity(), x);
      return cost * law.density(x);
    });
  };
  return piece(0, met, false) + (met < longest ? piece(met, longest, true) : 0);
}

std::vector<Stakes> all_stakes() {
  std::vector<Stakes> result;
  for (const Protocol protocol : {kWins, kAborts})
    for (const int chain : {2, 3, 4, 5, 10})
      result.push_back(
          {.protocol = protocol, .abort_cost = 2000, .chain = chain});
  return result;
}

std::vector<DelayLaw> all_laws() {
  std::vector<DelayLaw> result;
  for (const Stakes& stakes : all_stakes()) {
    result.push_back(DelayLaw::worst_case(stakes));
    result.push_back(DelayLaw::known_mean(stakes));
  }
  return result;
}

TEST(DelayLaw, DensitiesAreThoseOfTheirCumulatives) {
  for (const DelayLaw& law : all_laws()) {
    const double longest = law.stakes().longest_delay();
    EXPECT_NEAR(integral(0, longest, [&](double x) { return law.density(x); }),
                1, 1e-9);
    EXPECT_NEAR(
        integral(0, longest / 3, [&](double x) { return law.density(x); }),
        law.cumulative(longest / 3), 1e-9);
    EXPECT_EQ(law.cumulative(0), 0);
    EXPECT_EQ(law.cumulative(longest), 1);
    EXPECT_EQ(law.density(1.001 * longest), 0);
    EXPECT_EQ(law.density(-1), 0);
  }
}

TEST(DelayLaw, QuantilesInvertTheCumulative) {
  for (const DelayLaw& law : all_laws())
    for (const double share : {1e-12, 1e-6, 0.01, 0.25, 0.5, 0.9, 0.999999}) {
      EXPECT_NEAR(law.cumulative(law.quantile(share)) / share, 1, 1e-4)
          << share;
      EXPECT_LE(law.quantile(share), law.stakes().longest_delay());
    }
}

// Kolmogorov and Smirnov: 1.63 / sqrt(n) is exceeded once in a hundred times.
TEST(DelayLaw, SamplesFollowTheLaw) {
  constexpr int kDraws = 100000;
  FastRandom random(1, 0);
  for (const DelayLaw& law : all_laws()) {
    std::vector<double> draws;
    for (int i = 0; i < kDraws; ++i) draws.push_back(law.sample(random));
    std::sort(draws.begin(), draws.end());
    double distance = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double at = law.cumulative(draws[static_cast<std::size_t>(i)]);
      distance = std::max(
          {distance, at - double(i) / kDraws, double(i + 1) / kDraws - at});
    }
    EXPECT_LT(distance, 1.63 / std::sqrt(double(kDraws)));
    EXPECT_GE(draws.front(), 0);
    EXPECT_LE(draws.back(), law.stakes().longest_delay());
  }
}

TEST(DelayLaw, TheExpectedCostIsTheSameMultipleForEveryRemainingTime) {
  const auto ratio_of = [](const Stakes& stakes) {
    if (stakes.protocol == kAborts) return kE / (kE - 1);
    const double r =
        std::pow(double(stakes.chain) / (stakes.chain - 1), stakes.chain - 1);
    return r / (r - 1);
  };
  for (const Stakes& stakes : all_stakes()) {
    const DelayLaw law = DelayLaw::worst_case(stakes);
    EXPECT_NEAR(law.ratio(1), ratio_of(stakes), 1e-12);
    for (const double share : {0.1, 0.5, 1.0, 2.0}) {
      const double remaining = share * stakes.longest_delay();
      EXPECT_NEAR(expected_cost(law, remaining) / least_cost(stakes, remaining),
                  ratio_of(stakes), 1e-6);
    }
  }
}

TEST(DelayLaw, RatiosAreThoseOfTheTable) {
  const auto ratio = [](Protocol protocol, int chain) {
    return DelayLaw::worst_case(
               {.protocol = protocol, .abort_cost = 7, .chain = chain})
        .ratio(0);
  };
  EXPECT_NEAR(ratio(kWins, 2), 2.0000, 5e-5);
  EXPECT_NEAR(ratio(kWins, 3), 1.8000, 5e-5);
  EXPECT_NEAR(ratio(kWins, 4), 1.7297, 5e-5);
  EXPECT_NEAR(ratio(kWins, 5), 1.6938, 5e-5);
  EXPECT_NEAR(ratio(kWins, 10), 1.6324, 5e-5);
  EXPECT_NEAR(ratio(kAborts, 7), 1.5820, 5e-5);
}

TEST(DelayLaw, HandCasesOfAPair) {
  const Stakes wins{.protocol = kWins, .abort_cost = 1000, .chain = 2};
  const Stakes aborts{.protocol = kAborts, .abort_cost = 1000, .chain = 2};
  EXPECT_EQ(least_cost(wins, 500), 500);
  EXPECT_EQ(conflict_cost(wins, 500, wins.longest_delay()), 500);
  EXPECT_EQ(conflict_cost(wins, 500, 0), 1000);
  EXPECT_NEAR(expected_cost(DelayLaw::worst_case(wins), 500), 1000, 1e-6);
  EXPECT_EQ(least_cost(wins, 1001), 1000);
  EXPECT_EQ(conflict_cost(wins, 1001, wins.longest_delay()), 3000);
  EXPECT_EQ(conflict_cost(aborts, 1001, aborts.longest_delay()), 2000);
  EXPECT_NEAR(expected_cost(DelayLaw::worst_case(wins), 1001), 2000, 1e-6);
  EXPECT_NEAR(expected_cost(DelayLaw::worst_case(aborts), 1001), 1582, 0.05);
}

TEST(DelayLaw, HandCasesOfThree) {
  const Stakes stakes{.protocol = kWins, .abort_cost = 1000, .chain = 3};
  EXPECT_EQ(stakes.longest_delay(), 500);
  EXPECT_EQ(conflict_cost(stakes, 501, 500), 2500);
  EXPECT_EQ(deterministic_ratio(stakes), 2.5);
  EXPECT_NEAR(DelayLaw::worst_case(stakes).cumulative(250), 0.45, 1e-12);
}

// With a known mean the expected cost is (k-1) D (1 + l D) up to the longest
// delay, and (k-1) M (1 + l M) beyond.
TEST(DelayLaw, WithAMeanCostsGrowWithTheRemainingTime) {
  for (const Stakes& stakes : all_stakes()) {
    const DelayLaw law = DelayLaw::known_mean(stakes);
    const double slope = law.ratio(1) - 1;
    for (const double share : {0.1, 0.5, 1.0, 2.0}) {
      const double met = std::min(share, 1.0) * stakes.longest_delay();
      EXPECT_NEAR(expected_cost(law, share * stakes.longest_delay()) /
                      ((stakes.chain - 1) * met * (1 + slope * met)),
                  1, 1e-6);
    }
  }
}

TEST(DelayLaw, TheMeanIsUsedBelowTheTablesThresholds) {
  struct Case {
    Protocol protocol;
    int chain;
    double threshold;
  };
  for (const Case& row : std::vector<Case>{{kWins, 2, 0.7726},
                                           {kWins, 3, 0.4000},
                                           {kWins, 4, 0.2703},
                                           {kWins, 5, 0.2042},
                                           {kWins, 10, 0.0919},
                                           {kAborts, 2, 0.8360},
                                           {kAborts, 3, 0.4180},
                                           {kAborts, 4, 0.2787}}) {
    const Stakes stakes{
        .protocol = row.protocol, .abort_cost = 100, .chain = row.chain};
    const double at = 100 * row.threshold;
    EXPECT_TRUE(DelayLaw::best(stakes, 0.999 * at).uses_mean());
    EXPECT_FALSE(DelayLaw::best(stakes, 1.001 * at).uses_mean());
    EXPECT_NEAR(DelayLaw::known_mean(stakes).ratio(at),
                DelayLaw::worst_case(stakes).ratio(at), 1e-3);
  }
  EXPECT_FALSE(DelayLaw::best({.abort_cost = 100},
                              std::numeric_limits<double>::quiet_NaN())
                   .uses_mean());
}

TEST(DelayLaw, LimitsKeepTheirDigits) {
  // Requestor wins becomes ski rental in long chains.
  const Stakes wins{.protocol = kWins, .abort_cost = 1e12, .chain = 1 << 30};
  const Stakes aborts{
      .protocol = kAborts, .abort_cost = 1e12, .chain = 1 << 30};
  for (const double share : {1e-9, 0.1, 0.5, 0.99}) {
    EXPECT_NEAR(DelayLaw::worst_case(wins).quantile(share) /
                    DelayLaw::worst_case(aborts).quantile(share),
                1, 1e-6);
    EXPECT_NEAR(DelayLaw::known_mean(wins).quantile(share) /
                    DelayLaw::known_mean(aborts).quantile(share),
                1, 1e-4);
  }
  EXPECT_NEAR(DelayLaw::worst_case(wins).ratio(0), kE / (kE - 1), 1e-6);

  const Stakes huge{.protocol = kWins, .abort_cost = 1e300, .chain = 1 << 30};
  EXPECT_TRUE(std::isfinite(DelayLaw::worst_case(huge).quantile(0.999)));

  // Nothing to lose: nobody waits.
  for (const Protocol protocol : {kWins, kAborts}) {
    const Stakes free{.protocol = protocol, .abort_cost = 0, .chain = 2};
    EXPECT_EQ(DelayLaw::worst_case(free).quantile(0.9), 0);
    EXPECT_EQ(DelayLaw::best(free, 10).quantile(0.9), 0);
    EXPECT_EQ(DelayLaw::best(free, 0).quantile(0.9), 0);
  }
}

TEST(DelayLaw, RefusesWhatIsNoConflict) {
  const auto refused = [](const Stakes& stakes, const char* what) {
    weft::test::expect_error(ErrorCode::kInvalidArgument, {what},
                             [&] { DelayLaw::worst_case(stakes); });
  };
  refused({.abort_cost = 1, .chain = 1}, "no conflict");
  refused({.abort_cost = -1}, "cannot cost");
  refused({.abort_cost = std::numeric_limits<double>::quiet_NaN()},
          "cannot cost");
  refused({.abort_cost = std::numeric_limits<double>::infinity()},
          "cannot cost");
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"below 0"},
                           [] { DelayLaw::best({.abort_cost = 1}, -1); });
}

// Section 3.4: conflicts whose expected cost is at most twice the least make a
// run at most (1 + 2w) / (1 + w) times as long, w being what the least cost is
// of the useful time, whatever conflicts an adversary has chosen before.
TEST(DelayLaw, ThroughputStaysWithinItsBound) {
  FastRandom random(7, 0);
  for (const double scale : {0.1, 1.0, 10.0}) {
    double useful = 0;
    double least = 0;
    double paid = 0;
    for (int i = 0; i < 200000; ++i) {
      const double length = 100 + 900 * random.unit();
      const Stakes stakes{.protocol = kWins,
                          .abort_cost = length * random.unit(),
                          .chain = 2 + static_cast<int>(random.below(4))};
      const double remaining = scale * length * random.unit();
      useful += length;
      least += least_cost(stakes, remaining);
      paid += conflict_cost(stakes, remaining,
                            DelayLaw::worst_case(stakes).sample(random));
    }
    const double share = least / useful;
    const double bound = (1 + 2 * share) / (1 + share);
    EXPECT_LE((useful + paid) / (useful + least), 1.01 * bound);
  }
}

TEST(SkiRental, PaysAtMostItsRatio) {
  const SkiRental patience({.price = 30, .rent = 3});
  EXPECT_EQ(patience.law().stakes().longest_delay(), 10);
  FastRandom random(3, 0);
  double paid = 0;
  for (int i = 0; i < 100000; ++i) {
    const double wait = patience.sample(random);
    paid += wait < 4 ? 3 * wait + 30 : 3 * 4;
  }
  EXPECT_NEAR(paid / 100000 / 12, kE / (kE - 1), 0.02);
  EXPECT_TRUE(SkiRental({.price = 30, .rent = 3, .mean = 1}).law().uses_mean());
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"cost something"},
                           [] { SkiRental({.price = 1, .rent = 0}); });
}

}  // namespace
}  // namespace weft::concurrent::delay_law_test
