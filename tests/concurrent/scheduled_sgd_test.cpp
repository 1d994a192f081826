// Lock-free SGD under adversaries, and what the theory says of it.
#include "weft/concurrent/sgd/scheduled_sgd.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "tests/concurrent/sample_rows.h"
#include "tests/support/errors.h"

#include "weft/concurrent/sgd/adversarial_run.h"
#include "weft/concurrent/sgd/bounds.h"
#include "weft/concurrent/sgd/epoch_sgd.h"
#include "weft/concurrent/sgd/linear_model.h"
#include "weft/concurrent/sgd/quadratic.h"

namespace weft::concurrent::scheduled_sgd_test {
namespace {

constexpr std::int64_t kDelay = 20;

ScheduledRun on_line(std::string_view name, const Options& given,
                     const ScheduleOptions& options, double noise = 0) {
  const auto adversary = make_adversary(name, given, 3);
  const std::vector<double> optimum = {0};
  return run_scheduled_sgd(Quadratic<double>(1, noise), *adversary, options,
                           {1}, optimum);
}

ScheduledRun frozen(std::int64_t delay, double rate, std::uint64_t rounds = 1) {
  return on_line(
      "freeze", {{"delay", delay}},
      {.iterations = rounds * (static_cast<std::uint64_t>(delay) + 1),
       .rate = rate});
}

TEST(ScheduledSgd, FreezingIsTheClosedForm) {
  for (const std::int64_t delay : {0, 1, 7, 29, 290}) {
    for (const double rate : {0.5, 0.25, 0.1}) {
      double x = 1;
      for (std::int64_t i = 0; i < delay; ++i) x += -rate * x;
      x += -rate * 1.0;
      EXPECT_EQ(frozen(delay, rate).x[0], x) << delay << " " << rate;
      EXPECT_NEAR(x, freeze_factor(rate, static_cast<double>(delay)), 1e-14);
    }
  }
  // Powers of two are exact.
  EXPECT_EQ(frozen(8, 0.5).x[0], std::pow(0.5, 8) - 0.5);
}

TEST(ScheduledSgd, TheLowerBoundIsReached) {
  EXPECT_NEAR(freeze_threshold(0.1), 28.43, 0.01);
  EXPECT_NEAR(freeze_threshold(0.01), 527.2, 0.1);
  EXPECT_NEAR(freeze_slowdown(0.1, 290), 13.27, 0.01);
  EXPECT_NEAR(freeze_slowdown(0.01, 5280), 11.5, 0.05);
  EXPECT_NEAR(freeze_slowdown(0.1, 29), 1.04, 0.005);
  // The same of the machine, over three rounds.
  const double measured =
      3 * 290 * std::log1p(-0.1) / std::log(std::abs(frozen(290, 0.1, 3).x[0]));
  EXPECT_NEAR(measured, 13.27, 0.01);
}

// Iterations for each factor of e grow with the delay to the power of 1.
TEST(ScheduledSgd, BeyondTheThresholdTimeIsLinearInTheDelay) {
  for (const double rate : {0.1, 0.03}) {
    double log_x = 0;
    double log_y = 0;
    double xx = 0;
    double xy = 0;
    int count = 0;
    for (double delay = 2 * freeze_threshold(rate); delay < 2e4; delay *= 2) {
      const auto whole = static_cast<std::int64_t>(delay);
      const double way = -std::log(std::abs(frozen(whole, rate, 2).x[0]));
      const double x = std::log(delay);
      const double y = std::log(2 * (delay + 1) / way);
      log_x += x;
      log_y += y;
      xx += x * x;
      xy += x * y;
      ++count;
    }
    const double slope =
        (count * xy - log_x * log_y) / (count * xx - log_x * log_x);
    EXPECT_NEAR(slope, 1, 0.05) << rate;
  }
}

// At a fixed rate noise and stale gradients leave a floor; falling rates do
// not.
TEST(ScheduledSgd, EpochsPassTheFloorOfAFixedRate) {
  constexpr double kNoise = 1;
  const auto mean_square = [&](int epochs, std::uint64_t iterations) {
    double sum = 0;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto run = on_line("freeze", {{"delay", std::int64_t{60}}},
                               {.first = i << 32U,
                                .iterations = iterations,
                                .rate = 0.2,
                                .epochs = epochs},
                               kNoise);
      sum += run.x[0] * run.x[0];
    }
    return sum / 20;
  };
  const double fixed = mean_square(1, 4800);
  EXPECT_GT(fixed, 0.03);
  EXPECT_LT(mean_square(8, 600), fixed / 5);
}

TEST(ScheduledSgd, AnAbandonedCopyIsNotRead) {
  // The first thread sleeps through both epochs, and wakes in the first.
  const ScheduledRun run =
      on_line("freeze", {{"delay", std::int64_t{19}}, {"repeat", false}},
              {.iterations = 10, .rate = 0.5, .epochs = 2});
  EXPECT_EQ(run.trace.size(), 20U);
  // All but the sleeper's of the first, and all of the second.
  EXPECT_EQ(run.x[0], std::pow(0.5, 9) * std::pow(0.75, 10));
}

// --- Every adversary
// ----------------------------------------------------------

class EachAdversary : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Adversary> make() const {
    const AdversaryDef& def = adversary_registry().get(GetParam());
    Options options;
    for (const OptionSpec& spec : def.options)
      if (spec.name == "delay") options["delay"] = kDelay;
    return make_adversary(GetParam(), options, 5);
  }

  ScheduledRun rows(int threads, std::size_t block = 1) const {
    const SparseRows sample = sample_rows(60, 40, 4);
    const LinearModel<double> model(sample, {.loss = LinearLoss::kSquared});
    const std::vector<double> optimum(40);
    return run_scheduled_sgd(
        model, *make(),
        {.threads = threads, .iterations = 600, .rate = 0.05, .block = block},
        std::vector<double>(40), optimum);
  }
};

TEST_P(EachAdversary, IsDeterministicAndBoundByTheLemma) {
  for (const int threads : {1, 2, 5}) {
    const ScheduledRun run = rows(threads);
    EXPECT_EQ(run.x, rows(threads).x);
    ASSERT_EQ(run.trace.size(), 600U);
    std::vector<bool> seen(600);
    for (std::size_t i = 0; i < run.trace.size(); ++i) {
      const IterationTrace& each = run.trace[i];
      EXPECT_FALSE(seen[each.iteration]);
      seen[each.iteration] = true;
      EXPECT_LT(each.start, each.first_write);
      EXPECT_LE(each.first_write, each.end);
      if (i > 0) {
        EXPECT_LT(run.trace[i - 1].first_write, each.first_write);
      }
    }
    const DelayStatistics delays = delays_of(run.trace, threads);
    EXPECT_TRUE(delays.lemma_holds(threads))
        << threads << ": " << delays.tau_avg << " " << delays.most_bad << " "
        << delays.worst_sum << " " << delays.sum_bound;
    if (threads == 1) {
      EXPECT_EQ(delays.tau_max, 0U);
    }
  }
}

TEST_P(EachAdversary, OfOneThreadIsTheSequentialRun) {
  const SparseRows sample = sample_rows(60, 40, 4);
  const LinearModel<double> model(sample, {.loss = LinearLoss::kSquared});
  std::vector<double> x(40);
  run_epoch_sgd<double>(
      model, x,
      {.kind = UpdateKind::kSequential, .iterations = 600, .rate = 0.05});
  EXPECT_EQ(rows(1).x, x);
  // Neither do the steps of a block change it.
  EXPECT_EQ(rows(1, 3).x, x);
}

INSTANTIATE_TEST_SUITE_P(Adversaries, EachAdversary,
                         ::testing::ValuesIn(names_of(adversary_registry())),
                         [](const auto& info) { return info.param; });

TEST(Adversaries, DelayAsLongAsTheyAreTold) {
  const ScheduledRun run = on_line(
      "freeze", {{"delay", std::int64_t{1000}}, {"threads", std::int64_t{3}}},
      {.threads = 8, .iterations = 10'000});
  const DelayStatistics delays = delays_of(run.trace, 8);
  EXPECT_GE(delays.tau_max, 1000U);
  EXPECT_LE(delays.tau_max, 1100U);
  EXPECT_LE(delays.tau_avg, 16);
}

double last_distance(std::string_view name, const Options& options) {
  return std::abs(
      on_line(name, options, {.threads = 3, .iterations = 60, .rate = 0.3})
          .x[0]);
}

TEST(Adversaries, AreWorseThanTurns) {
  const double fair = last_distance("round_robin", {});
  for (const auto& [name, options] :
       {std::pair<const char*, Options>{"sign_aware", {{"delay", kDelay}}},
        {"greedy", {}},
        {"freeze", {{"delay", kDelay}}},
        {"target", {{"delay", kDelay}}}})
    EXPECT_GT(last_distance(name, options), fair) << name;
}

TEST_P(EachAdversary, GoesOnUntilADivergingRunIsNoNumber) {
  for (const int threads : {1, 2, 5}) {
    for (const double rate : {1.5, 1.9, 30.0}) {
      const auto run = [&] {
        on_line(GetParam(), {},
                {.threads = threads, .iterations = 100'000, .rate = rate});
      };
      try {
        run();  // It need not diverge.
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kNumeric) << error.what();
      }
    }
  }
}

TEST(Adversaries, SkewMakesThreadsUnequal) {
  const ScheduledRun run =
      on_line("random", {{"skew", 2.0}}, {.threads = 4, .iterations = 4000});
  std::vector<int> counts(4);
  for (const IterationTrace& each : run.trace)
    ++counts[static_cast<std::size_t>(each.thread)];
  // 1, 1/4, 1/9, 1/16 of 1.4236.
  EXPECT_NEAR(counts[0] / 4000.0, 0.702, 0.03);
  EXPECT_NEAR(counts[3] / 4000.0, 0.044, 0.02);
}

TEST(Adversaries, RefuseWhatTheyDoNotKnow) {
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"freese", "freeze"},
                           [] { make_adversary("freese"); });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"delay"}, [] {
    make_adversary("freeze", {{"delay", std::int64_t{-1}}});
  });
}

TEST(ScheduledSgd, RefusesWhatMakesNoSense) {
  const auto refused = [](const ScheduleOptions& options, const char* why) {
    weft::test::expect_error(ErrorCode::kInvalidArgument, {why},
                             [&] { on_line("round_robin", {}, options); });
  };
  refused({.threads = 0}, "0 threads");
  refused({.rate = 0}, "rate");
  refused({.epochs = 0}, "0 epochs");
  refused({.block = 0}, "0 entries");
  // Above 2 / L it diverges, until it is no number.
  weft::test::expect_error(ErrorCode::kNumeric, {"no number"}, [] {
    on_line("round_robin", {}, {.iterations = 20'000, .rate = 3});
  });
  EXPECT_EQ(on_line("round_robin", {}, {.iterations = 0}).x[0], 1);
}

// --- Bounds
// ---------------------------------------------------------------------

TEST(SgdBounds, AreTheHandValues) {
  const SgdConstants constants{.within = 0.01};
  const SgdBound sequential = sequential_bound(constants, 0.1);
  EXPECT_NEAR(sequential.iterations, 5605.2, 0.1);
  EXPECT_DOUBLE_EQ(sequential.rate, 0.01);
  // M^2 + 2 L M 10 sqrt(0.01) = 3, and 1 + 4 * 0.1 * sqrt(25 * 2 * 2) = 5.
  EXPECT_DOUBLE_EQ(hogwild_bound(constants, 0.1, 10).factor, 3);
  const SgdBound ours = lock_free_bound(constants, 0.1, 25, 2, 2);
  EXPECT_DOUBLE_EQ(ours.factor, 5);
  EXPECT_DOUBLE_EQ(ours.rate, 0.002);
  EXPECT_NEAR(ours.iterations, 5 * sequential.iterations, 1e-6);
  // log2(0.1 * 2 * 1 * 4 / 0.1) = 3.
  EXPECT_EQ(full_sgd_epochs(constants, 0.1, 4), 3);
  EXPECT_EQ(full_sgd_epochs(constants, 1e-9, 4), 1);
}

TEST(SgdBounds, RefuseConstantsThatCannotBe) {
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"convexity"},
                           [] { sequential_bound({.convexity = 0}, 0.1); });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"theta"},
                           [] { sequential_bound({.slack = 2}, 0.1); });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"failure"},
                           [] { sequential_bound({}, 0); });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"delay"},
                           [] { hogwild_bound({}, 0.1, -1); });
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"rate"},
                           [] { freeze_threshold(1); });
}

// Two rows of one entry each: F = sum of (x_j - 1)^2 / 4 + x_j^2 / 2, whose
// optimum is 1/3 each. A row's gradient is (x_j - 1) + 2 x_j, so that H = 3, it
// is 0 at the optimum, and M^2 = 2 * 9 * 2/9 = 4.
TEST(SgdBounds, OfRidgeAreTheHandValues) {
  SparseRows rows;
  rows.width = 2;
  for (const std::uint32_t column : {0U, 1U}) {
    rows.columns.push_back(column);
    rows.values.push_back(1);
    rows.begin.push_back(rows.columns.size());
    rows.targets.push_back(1);
  }
  LinearModelOptions ridge{.loss = LinearLoss::kSquared, .l2 = 1};
  const auto adversary = make_adversary("round_robin");
  // The optimum is not the run's to miss, whose rate is far too low.
  const auto run = [&](double within) {
    return run_rows(rows, *adversary,
                    {.iterations = 3, .rate = 1e-6, .within = within}, ridge);
  };
  const AdversarialRun found = run(0.01);
  EXPECT_NEAR(found.first_distance, std::sqrt(2.0) / 3, 1e-9);
  ASSERT_TRUE(found.sequential && found.lock_free);
  EXPECT_NEAR(found.sequential->factor, 4, 1e-6);
  EXPECT_NEAR(found.sequential->rate, 0.0025, 1e-9);
  // 4 sqrt(0.01) 3 * 2 sqrt(tau_max 2 * 2) more.
  const auto tau_max = static_cast<double>(found.delays.tau_max);
  EXPECT_NEAR(found.lock_free->factor, 4 + 2.4 * std::sqrt(4 * tau_max), 1e-6);
  EXPECT_FALSE(run(0).sequential);
  ridge.l2 = 0;
  EXPECT_FALSE(run(0.01).sequential) << "it may not be strongly convex";
}

// Runs at the rate of the bound fail at most as often as it says.
TEST(SgdBounds, HoldUnderRandomSchedules) {
  constexpr int kThreads = 4;
  constexpr int kRuns = 200;
  const SgdConstants constants{.gradient = std::sqrt(2.0), .within = 0.1};
  // tau_max of these schedules is below 60.
  const SgdBound bound = lock_free_bound(constants, 0.5, 60, kThreads, 1);
  const std::vector<double> optimum = {0};
  int failures = 0;
  for (std::uint64_t i = 0; i < kRuns; ++i) {
    const auto adversary = make_adversary("random", {}, i);
    const ScheduledRun run = run_scheduled_sgd(
        Quadratic<double>(1, 1, i), *adversary,
        {.threads = kThreads,
         .iterations = static_cast<std::uint64_t>(bound.iterations),
         .rate = bound.rate,
         .within = constants.within},
        {1}, optimum);
    EXPECT_LT(delays_of(run.trace, kThreads).tau_max, 60U);
    failures += run.reached ? 0 : 1;
  }
  EXPECT_LE(failures, kRuns / 2);
}

}  // namespace
}  // namespace weft::concurrent::scheduled_sgd_test
