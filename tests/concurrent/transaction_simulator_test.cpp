#include "weft/concurrent/conflict/transaction_simulator.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "tests/support/errors.h"

#include "weft/concurrent/conflict/policy_registry.h"

namespace weft::concurrent::transaction_simulator_test {
namespace {

TransactionWorkload steady(int objects, int picks, double length,
                           double pause) {
  return {.name = "steady",
          .objects = objects,
          .picks = picks,
          .length = [=](FastRandom&) { return length; },
          .pause = [=](FastRandom&) { return pause; }};
}

TransactionStatistics simulate(const TransactionWorkload& workload,
                               const std::string& policy,
                               TransactionOptions options = {},
                               const Options& of_policy = {}) {
  const auto made = make_conflict_policy(policy, of_policy);
  options.policy = made.get();
  options.knows_remaining = policy == "oracle";
  return simulate_transactions(workload, options);
}

double rate(const std::string& workload, const std::string& policy, int cores,
            bool can_kill_owner = true) {
  const TransactionStatistics found =
      simulate(transaction_workload(workload), policy,
               {.cores = cores, .can_kill_owner = can_kill_owner, .time = 2e5});
  return static_cast<double>(found.commits) / found.time;
}

TEST(TransactionSimulator, OneCoreMeetsNobody) {
  const TransactionStatistics found =
      simulate(steady(1, 1, 60, 40), "no-delay", {.cores = 1, .time = 1e4});
  EXPECT_EQ(found.commits, 100U);
  EXPECT_EQ(found.conflicts, 0U);
  EXPECT_EQ(found.wasted, 0);
}

// Who waits for long enough kills nobody: only waiting is lost.
TEST(TransactionSimulator, PatientCoresQueueUp) {
  const TransactionStatistics found =
      simulate(steady(1, 1, 100, 0), "fixed", {.cores = 4, .time = 1e5},
               {{"delay_ns", 1e6}});
  EXPECT_EQ(found.aborts, 0U);
  EXPECT_GT(found.commits, 1000U);  // one after another would be 1000
  EXPECT_GT(found.waited, 0.4 * 4 * 1e5);
}

TEST(TransactionSimulator, TimeIsWorkedWaitedOrWasted) {
  for (const char* policy : {"no-delay", "random", "deterministic"}) {
    const TransactionStatistics found =
        simulate(steady(1, 1, 100, 10), policy, {.cores = 6, .time = 1e5});
    const double useful = 110 * static_cast<double>(found.commits);
    EXPECT_LE(useful + found.wasted, 6 * 1e5);
    EXPECT_GT(useful + found.wasted + found.waited +
                  20 * static_cast<double>(found.aborts),
              0.95 * 6 * 1e5 - 6 * 110);
  }
}

TEST(TransactionSimulator, IsTheSameForOneSeed) {
  const auto run = [](std::uint64_t seed) {
    const auto found = simulate(transaction_workload("txapp"), "random",
                                {.cores = 16, .time = 1e5, .seed = seed});
    return std::pair(found.commits, found.waited);
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

// Cores that hold what others want and want what others hold: waits end, so
// circles break.
TEST(TransactionSimulator, CirclesBreak) {
  const auto commits = [](const std::string& policy, bool wins, int cores,
                          int picks) {
    return simulate(steady(cores, picks, 100, 100), policy,
                    {.cores = cores, .can_kill_owner = wins, .time = 1e5})
        .commits;
  };
  for (const auto& def : conflict_policy_registry().all())
    for (const bool wins : {true, false}) {
      EXPECT_GT(commits(def.name, wins, 3, 3), 10U) << def.name << wins;
      EXPECT_GT(commits(def.name, wins, 10, 2), 100U) << def.name << wins;
    }
}

TEST(TransactionSimulator, DelaysPayUnderContention) {
  for (const char* workload : {"stack", "queue"})
    for (const bool wins : {true, false})
      EXPECT_GT(rate(workload, "random", 16, wins),
                1.2 * rate(workload, "no-delay", 16, wins))
          << workload << wins;
}

TEST(TransactionSimulator, DelaysCostNothingWithoutContention) {
  for (const std::string& workload : transaction_workload_names())
    for (const char* policy : {"random", "deterministic", "hybrid"})
      EXPECT_GT(rate(workload, policy, 2), 0.9 * rate(workload, "no-delay", 2))
          << workload << policy;
}

TEST(TransactionSimulator, TuningFindsTheBestFixedDelay) {
  const TransactionOptions options{.cores = 8, .time = 5e4};
  const TransactionWorkload& stack = transaction_workload("stack");
  const TunedDelay best = tune_fixed_delay(stack, options);
  for (const double delay : {10.0, 1e4})
    EXPECT_GE(best.statistics.commits,
              simulate(stack, "fixed", options, {{"delay_ns", delay}}).commits);
}

TEST(TransactionSimulator, RefusesWhatItCannotSimulate) {
  const auto refused = [](const TransactionWorkload& workload,
                          const TransactionOptions& options) {
    weft::test::expect_error(ErrorCode::kInvalidArgument,
                             {"simulate_transactions"},
                             [&] { simulate(workload, "random", options); });
  };
  refused(steady(1, 2, 1, 1), {});
  refused(steady(1, 1, 1, 1), {.cores = 0});
  refused(steady(1, 1, 1, 1), {.time = 0});
  refused(steady(1, 1, 1, 1), {.cleanup = 0});
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"no policy"}, [] {
    simulate_transactions(transaction_workload("stack"), {});
  });
  weft::test::expect_error(ErrorCode::kInvalidArgument,
                           {"did you mean 'stack'"},
                           [] { transaction_workload("stak"); });
}

}  // namespace
}  // namespace weft::concurrent::transaction_simulator_test
