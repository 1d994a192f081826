#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>

#include "tests/support/errors.h"

#include "weft/concurrent/conflict/policy_registry.h"

namespace weft::concurrent::conflict_policies_test {
namespace {

constexpr ConflictInfo kConflict{.self_cost_ns = 300,
                                 .owner_cost_ns = 1000,
                                 .chain = 3,
                                 .can_kill_owner = true};

Decision decide(const std::string& name, const ConflictInfo& conflict,
                const Options& options = {}) {
  FastRandom random(1, 0);
  return make_conflict_policy(name, options)->decide(conflict, random);
}

// The mean and the largest of many.
std::pair<double, double> delays(const std::string& name,
                                 const ConflictInfo& conflict) {
  const auto policy = make_conflict_policy(name);
  FastRandom random(1, 0);
  double sum = 0;
  double most = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double delay = policy->decide(conflict, random).delay_ns;
    sum += delay;
    most = std::max(most, delay);
  }
  return {sum / kDraws, most};
}

TEST(ConflictPolicies, AreAllThere) {
  std::set<std::string> names;
  for (const auto& def : conflict_policy_registry().all())
    names.insert(def.name);
  EXPECT_EQ(names,
            (std::set<std::string>{"backoff", "deterministic", "fixed",
                                   "hybrid", "karma", "no-delay", "oracle",
                                   "random", "random-mean", "timestamp"}));
}

TEST(ConflictPolicies, KillTheOwnerOnlyWhereTheyMay) {
  for (const auto& def : conflict_policy_registry().all()) {
    ConflictInfo conflict = kConflict;
    conflict.mean_remaining_ns = 100;
    for (const double self : {0.0, 300.0, 5000.0}) {
      conflict.self_cost_ns = self;
      conflict.can_kill_owner = false;
      const Decision decision = decide(def.name, conflict);
      EXPECT_EQ(decision.after, AfterDelay::kAbortSelf) << def.name;
      EXPECT_GE(decision.delay_ns, 0) << def.name;
      EXPECT_TRUE(std::isfinite(decision.delay_ns)) << def.name;
    }
  }
}

TEST(ConflictPolicies, DelaysAreThoseOfTheTable) {
  EXPECT_EQ(decide("no-delay", kConflict).delay_ns, 0);
  EXPECT_EQ(decide("no-delay", kConflict).after, AfterDelay::kKillOwner);
  EXPECT_EQ(decide("fixed", kConflict, {{"delay_ns", 70.0}}).delay_ns, 70);
  // Half of what the owner would lose, or of what the requestor would.
  EXPECT_EQ(decide("deterministic", kConflict).delay_ns, 500);
  ConflictInfo aborts = kConflict;
  aborts.can_kill_owner = false;
  EXPECT_EQ(decide("deterministic", aborts).delay_ns, 150);
  EXPECT_EQ(
      decide("deterministic", kConflict, {{"cleanup_ns", 200.0}}).delay_ns,
      600);

  // For k = 3 the mean of 2 (x + B) / (B² 5/4) on [0, B/2] is 0.26667 B.
  const auto [mean, most] = delays("random", kConflict);
  EXPECT_NEAR(mean, 266.67, 5);
  EXPECT_LE(most, 500);
  EXPECT_GT(most, 490);
}

TEST(ConflictPolicies, AKnownMeanWaitsForLonger) {
  ConflictInfo conflict = kConflict;
  EXPECT_EQ(delays("random-mean", conflict), delays("random", conflict));
  conflict.mean_remaining_ns = 200;  // below 0.4 B
  EXPECT_GT(delays("random-mean", conflict).first,
            1.1 * delays("random", conflict).first);
  conflict.mean_remaining_ns = 2000;
  EXPECT_EQ(delays("random-mean", conflict), delays("random", conflict));
}

TEST(ConflictPolicies, EachAbortDoublesTheStakesUpToABound) {
  ConflictInfo conflict = kConflict;
  conflict.aborts = 3;
  EXPECT_EQ(decide("deterministic", conflict).delay_ns, 4000);
  conflict.aborts = 1 << 30;
  EXPECT_EQ(decide("deterministic", conflict).delay_ns,
            std::ldexp(500, kMostDoublings));
  EXPECT_TRUE(std::isfinite(decide("backoff", conflict).delay_ns));
}

TEST(ConflictPolicies, TheOracleWaitsOnlyWhereThatIsCheaper) {
  ConflictInfo conflict = kConflict;
  conflict.mean_remaining_ns = 499;
  EXPECT_EQ(decide("oracle", conflict).delay_ns, 499);
  conflict.mean_remaining_ns = 501;
  EXPECT_EQ(decide("oracle", conflict).delay_ns, 0);
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"not known"},
                           [] { decide("oracle", kConflict); });
}

TEST(ConflictPolicies, TheHybridLetsTheCheaperOneDie) {
  ConflictInfo conflict = kConflict;  // 1.8 * 1000 against 1.58 * 300
  EXPECT_EQ(decide("hybrid", conflict).after, AfterDelay::kAbortSelf);
  conflict.self_cost_ns = 2000;
  EXPECT_EQ(decide("hybrid", conflict).after, AfterDelay::kKillOwner);
  conflict.can_kill_owner = false;
  EXPECT_EQ(decide("hybrid", conflict).after, AfterDelay::kAbortSelf);
}

TEST(ConflictPolicies, ClassicsLookAtWhoHasWorkedMore) {
  ConflictInfo conflict = kConflict;
  EXPECT_EQ(decide("karma", conflict).delay_ns, 700);
  EXPECT_EQ(decide("timestamp", conflict).after, AfterDelay::kAbortSelf);
  conflict.self_cost_ns = 1500;
  EXPECT_EQ(decide("karma", conflict).delay_ns, 0);
  EXPECT_EQ(decide("timestamp", conflict).delay_ns, 0);
  EXPECT_EQ(decide("timestamp", conflict).after, AfterDelay::kKillOwner);

  conflict.aborts = 0;
  EXPECT_NEAR(delays("backoff", conflict).second, 1000, 5);
  conflict.aborts = 4;
  EXPECT_NEAR(delays("backoff", conflict).second, 16000, 50);
}

// Section 3.4: a transaction of length y that meets g conflicts in each
// attempt has an even chance once B = 2 g y (k - 1), which doubling reaches.
TEST(ConflictPolicies, DoublingLetsLongTransactionsCommit) {
  const auto policy = make_conflict_policy("random");
  FastRandom random(5, 0);
  constexpr double kLength = 1000;
  constexpr int kConflicts = 8;
  int most = 0;
  int late = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    ConflictInfo conflict{
        .owner_cost_ns = kLength / 2, .chain = 2, .can_kill_owner = true};
    for (bool committed = false; !committed; ++conflict.aborts) {
      committed = true;
      for (int i = 0; i < kConflicts && committed; ++i)
        committed = policy->decide(conflict, random).delay_ns >= kLength;
    }
    most = std::max(most, conflict.aborts);
    late += conflict.aborts > 6 ? 1 : 0;  // log2(2 * 8 * 1000 / 500) + 1
  }
  EXPECT_LE(late, kTrials / 2);
  EXPECT_LE(most, 30);
}

TEST(ConflictPolicies, RefuseWhatCannotBe) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* name :
       {"deterministic", "random", "random-mean", "hybrid", "karma"}) {
    const auto refused = [&](ConflictInfo conflict, const char* what) {
      weft::test::expect_error(ErrorCode::kInvalidArgument, {what},
                               [&] { decide(name, conflict); });
    };
    refused({.self_cost_ns = -1, .owner_cost_ns = -1, .can_kill_owner = true},
            "cannot cost");
    refused({.self_cost_ns = nan, .owner_cost_ns = nan}, "cannot cost");
    refused({.self_cost_ns = 1, .owner_cost_ns = 1, .chain = 1}, "no conflict");
  }
  ConflictInfo conflict = kConflict;
  conflict.mean_remaining_ns = -5;
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"below 0"},
                           [&] { decide("random-mean", conflict); });
  weft::test::expect_error(ErrorCode::kInvalidArgument,
                           {"did you mean 'random'"},
                           [] { make_conflict_policy("randon"); });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"0 or more"}, [] {
    make_conflict_policy("fixed", {{"delay_ns", -1.0}});
  });
}

}  // namespace
}  // namespace weft::concurrent::conflict_policies_test
