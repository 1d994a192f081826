// Lock-free SGD by real threads: what each kind of update promises.
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/concurrent/sample_rows.h"
#include "tests/support/errors.h"

#include "weft/concurrent/coherence/explorer.h"
#include "weft/concurrent/coherence/simulated_memory.h"
#include "weft/concurrent/sgd/counting.h"
#include "weft/concurrent/sgd/epoch_sgd.h"
#include "weft/concurrent/sgd/full_sgd.h"
#include "weft/concurrent/sgd/linear_model.h"
#include "weft/concurrent/sgd/quadratic.h"

namespace weft::concurrent::sgd_test {
namespace {

constexpr std::array kShared = {UpdateKind::kLocked, UpdateKind::kStriped,
                                UpdateKind::kRoundRobin, UpdateKind::kHogwild,
                                UpdateKind::kAtomic};
constexpr std::array kLossless = {UpdateKind::kLocked, UpdateKind::kStriped,
                                  UpdateKind::kRoundRobin, UpdateKind::kAtomic};

template <class Number>
std::vector<Number> trained(const SgdProblem<Number>& problem,
                            const SgdOptions& options, Number start = 0) {
  std::vector<Number> x(problem.dimensions(), start);
  EXPECT_EQ(run_epoch_sgd<Number>(problem, x, options).iterations,
            options.iterations);
  return x;
}

// The algorithm as it is written down, for one row after the other.
std::vector<double> logistic_by_hand(const SparseRows& rows,
                                     const LinearModel<double>& model,
                                     std::uint64_t iterations, double rate) {
  std::vector<double> x(rows.width);
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t row = model.sample(i);
    double y = 0;
    for (std::size_t k = 0; k < rows.columns_of(row).size(); ++k)
      y += static_cast<double>(rows.values_of(row)[k]) *
           x[rows.columns_of(row)[k]];
    const double target = static_cast<double>(rows.targets[row]);
    const double slope = -target / (1 + std::exp(target * y));
    for (std::size_t k = 0; k < rows.columns_of(row).size(); ++k)
      x[rows.columns_of(row)[k]] -=
          rate * slope * static_cast<double>(rows.values_of(row)[k]);
  }
  return x;
}

TEST(Sgd, OfOneThreadIsTheAlgorithm) {
  const SparseRows rows = sample_rows(200, 500, 9);
  const LinearModel<double> model(rows, {.passes = 2});
  const auto x = trained(
      model, {.kind = UpdateKind::kSequential, .iterations = 400, .rate = 0.2});
  const auto expected = logistic_by_hand(rows, model, 400, 0.2);
  for (std::size_t j = 0; j < x.size(); ++j)
    EXPECT_NEAR(x[j], expected[j], 1e-12);
  EXPECT_LT(model.loss(x), 0.9 * std::log(2.0));
}

template <class Number>
void expect_same_bits_alone(const SgdProblem<Number>& problem) {
  const auto expected = trained<Number>(
      problem,
      {.kind = UpdateKind::kSequential, .iterations = 777, .rate = 0.1}, 1);
  for (const UpdateKind kind : kShared) {
    for (const bool snapshot : {false, true}) {
      const auto x = trained<Number>(problem,
                                     {.kind = kind,
                                      .iterations = 777,
                                      .rate = 0.1,
                                      .snapshot = snapshot,
                                      .traced = 100},
                                     1);
      EXPECT_EQ(x, expected) << to_string(kind);
    }
  }
}

TEST(Sgd, AllKindsLeaveTheSameBitsAlone) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const SparseRows rows = sample_rows(300, 400, 11);
    const LinearModelOptions options{.l2 = 0.01, .seed = seed, .passes = 3};
    expect_same_bits_alone(LinearModel<float>(rows, options));
    expect_same_bits_alone(LinearModel<double>(rows, options));
    expect_same_bits_alone(Quadratic<float>(33, 0.5, seed));
  }
}

TEST(Sgd, NothingIsLostUnlessItMayBe) {
  const SparseRows rows = sample_rows(500, 64, 8);
  const LinearModel<float> model(rows, {});
  const Counting counting(model);
  for (const UpdateKind kind : kLossless) {
    std::vector<double> x(counting.dimensions());
    const std::uint64_t iterations =
        kind == UpdateKind::kAtomic ? 125'000 : 20'000;
    const SgdRun run = run_epoch_sgd<double>(
        counting, x,
        {.kind = kind, .threads = 4, .iterations = iterations, .rate = 1});
    EXPECT_EQ(run.changes, 8 * iterations);
    // Integers below 2^53 are exact, in any order.
    EXPECT_EQ(counting.loss(x), static_cast<double>(8 * iterations))
        << to_string(kind);
  }
}

TEST(Sgd, HogwildNeverHasMoreThanWasAdded) {
  const SparseRows rows = sample_rows(500, 16, 8);
  const LinearModel<float> model(rows, {});
  std::vector<double> x(16);
  run_epoch_sgd<double>(Counting(model), x,
                        {.kind = UpdateKind::kHogwild,
                         .threads = 4,
                         .iterations = 20'000,
                         .rate = 1});
  const double found = std::accumulate(x.begin(), x.end(), 0.0);
  EXPECT_LE(found, 160'000);
  EXPECT_GT(found, 0);
}

// What nobody has changed since it was read becomes what it is to, to the bit,
// where adding the difference would round; the rest moves as far.
TEST(SharedVector, ReplacesWhatIsAsItWasRead) {
  for (const UpdateKind kind :
       {UpdateKind::kSequential, UpdateKind::kLocked, UpdateKind::kStriped,
        UpdateKind::kHogwild, UpdateKind::kAtomic}) {
    std::vector<float> x{9, 1e8F, 10, 3, 4};
    SharedVector<float> shared(x, kind);
    const std::vector<float> before{1e8F, 1, 3, 4};
    const std::vector<float> after{0.1F, 2, 3, 5};
    with_kind(kind, [&]<UpdateKind kKind>() {
      shared.replace<kKind>(1, std::span<const float>(before),
                            std::span<const float>(after));
    });
    EXPECT_EQ(x, (std::vector<float>{9, 0.1F, 11, 3, 5})) << to_string(kind);
  }
}

TEST(SharedVector, ReplacingAtomicallyLosesNothing) {
  constexpr int kRounds = 20'000;
  std::vector<double> x(1);
  SharedVector<double> shared(x, UpdateKind::kAtomic);
  const auto count = [&](double step) {
    for (int i = 0; i < kRounds; ++i) {
      std::array<double, 1> before;
      shared.read(std::size_t{0}, std::span<double>(before));
      const std::array<double, 1> after{before[0] + step};
      shared.replace<UpdateKind::kAtomic>(0, std::span<const double>(before),
                                          std::span<const double>(after));
    }
  };
  std::thread other([&] { count(1); });
  count(2);
  other.join();
  EXPECT_EQ(x[0], 3.0 * kRounds);
}

TEST(Sgd, RunsExactlySoManyIterations) {
  const Quadratic<double> line(1);
  for (const std::uint64_t iterations : {0U, 1U, 3U, 64U, 65U, 1000U}) {
    for (const UpdateKind kind : kShared)
      trained(line, {.kind = kind, .threads = 8, .iterations = iterations},
              1.0);
  }
}

TEST(Sgd, ConvergesByEveryKindOnSeveralThreads) {
  const SparseRows rows = sample_rows(400, 1000, 10);
  const LinearModel<float> model(rows, {.passes = 10});
  for (const UpdateKind kind : kShared) {
    const auto x = trained(
        model, {.kind = kind, .threads = 3, .iterations = 4000, .rate = 0.3});
    EXPECT_LT(model.loss(x), 0.5 * std::log(2.0)) << to_string(kind);
  }
}

TEST(Sgd, DelaysOfThreadsAreWithinTheirBounds) {
  const SparseRows rows = sample_rows(400, 300, 10);
  const LinearModel<float> model(rows, {});
  constexpr int kThreads = 4;
  std::vector<float> x(model.dimensions());
  const SgdRun run = run_epoch_sgd<float>(model, x,
                                          {.threads = kThreads,
                                           .iterations = 20'000,
                                           .batch = 1,
                                           .traced = 20'000});
  ASSERT_EQ(run.trace.size(), 20'000U);
  const DelayStatistics delays = delays_of(run.trace, kThreads);
  EXPECT_TRUE(delays.lemma_holds(kThreads))
      << delays.tau_avg << " " << delays.most_bad << " " << delays.worst_sum;
}

// --- What goes wrong ------------------------------------------------------

class Broken final : public SgdProblem<double> {
 public:
  explicit Broken(bool throws) : throws_(throws) {}
  std::uint32_t dimensions() const override { return 2; }
  std::uint64_t sample(std::uint64_t iteration) const override {
    return iteration;
  }
  void gradient(std::uint64_t sample, std::span<const double>,
                std::span<double> result) const override {
    result[0] = result[1] = 0;
    if (sample != 100) return;
    if (throws_) throw Error(ErrorCode::kDataLoss, "broken", "sample 100");
    result[1] = std::numeric_limits<double>::quiet_NaN();
  }
  double loss(std::span<const double>) const override { return 0; }

 private:
  bool throws_;
};

TEST(Sgd, AGradientThatIsNoNumberEndsAllThreads) {
  for (const UpdateKind kind : kShared) {
    std::vector<double> x(2);
    weft::test::expect_error(
        ErrorCode::kNumeric, {"sample 100", "no number"}, [&] {
          // Without the flag the others would run for hours.
          run_epoch_sgd<double>(Broken(false), x,
                                {.kind = kind,
                                 .threads = 4,
                                 .iterations = std::uint64_t{1} << 50U});
        });
    // Nothing of it was added.
    EXPECT_EQ(x[1], 0);
  }
}

TEST(Sgd, ASnapshotOfWhatIsNoNumberEnds) {
  std::vector<double> x{std::numeric_limits<double>::quiet_NaN()};
  weft::test::expect_error(ErrorCode::kNumeric, {"no number"}, [&] {
    run_epoch_sgd<double>(Quadratic<double>(1), x,
                          {.iterations = 1, .snapshot = true});
  });
}

TEST(Sgd, WhatAWorkerThrowsIsThrownOnce) {
  std::vector<double> x(2);
  weft::test::expect_error(ErrorCode::kDataLoss, {"broken", "sample 100"}, [&] {
    run_epoch_sgd<double>(
        Broken(true), x, {.threads = 3, .iterations = std::uint64_t{1} << 50U});
  });
  weft::test::expect_error(ErrorCode::kDataLoss, {"broken", "sample 100"}, [&] {
    run_full_sgd<double>(
        Broken(true), x,
        {.epoch = {.threads = 3, .iterations = std::uint64_t{1} << 50U},
         .epochs = 3});
  });
}

TEST(Sgd, RefusesWhatMakesNoSense) {
  const Quadratic<double> line(1);
  std::vector<double> x(1);
  const auto refused = [&](const SgdOptions& options, const char* why) {
    weft::test::expect_error(ErrorCode::kInvalidArgument, {why},
                             [&] { run_epoch_sgd<double>(line, x, options); });
  };
  refused({.threads = 0}, "0 threads");
  refused({.rate = 0}, "rate of 0");
  refused({.rate = -1}, "rate of -1");
  refused({.rate = std::numeric_limits<double>::infinity()}, "rate of inf");
  refused({.kind = UpdateKind::kSequential, .threads = 2}, "one thread");
  refused({.kind = UpdateKind::kRoundRobin, .batch = 2}, "2 iterations");
  x.resize(2);
  refused({}, "2 entries");
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"hogwyld", "hogwild"},
                           [] { update_kind("hogwyld"); });
  x.resize(1);
  weft::test::expect_error(ErrorCode::kInvalidArgument, {"0 epochs"}, [&] {
    run_full_sgd<double>(line, x, {.epoch = {}, .epochs = 0});
  });
}

// --- Epochs -----------------------------------------------------------------

// Every iteration adds 1; that of number 0 first waits until somebody has done
// number `until`.
class Sleeper final : public SgdProblem<double> {
 public:
  explicit Sleeper(std::uint64_t until) : until_(until) {}
  std::uint32_t dimensions() const override { return 1; }
  std::uint64_t sample(std::uint64_t iteration) const override {
    return iteration;
  }
  void gradient(std::uint64_t sample, std::span<const double>,
                std::span<double> result) const override {
    if (sample == 0) is_awake_.wait(false);
    if (sample == until_) {
      is_awake_.store(true);
      is_awake_.notify_all();
    }
    result[0] = -1;
  }
  double loss(std::span<const double> x) const override { return x[0]; }

 private:
  std::uint64_t until_;
  mutable std::atomic<bool> is_awake_{false};
};

TEST(FullSgd, WhoSleepsInAnOldEpochChangesNoLaterOne) {
  // An update of epoch e adds 2^-e. The sleeper takes the first iteration, and
  // with it the rest of its batch of 4, which it finds when it wakes in the
  // last epoch. In one before, what it has under way when the other goes on
  // could be missing in the next one's copy.
  constexpr std::uint64_t kIterations = 40;
  const Sleeper sleeper(3 * kIterations + 20);
  std::vector<double> x(1);
  const SgdRun run =
      run_full_sgd<double>(sleeper, x,
                           {.epoch = {.kind = UpdateKind::kAtomic,
                                      .threads = 2,
                                      .iterations = kIterations,
                                      .rate = 1,
                                      .batch = 4},
                            .epochs = 4});
  EXPECT_EQ(run.iterations, 4 * kIterations);
  EXPECT_EQ(x[0], (kIterations - 4) + kIterations * (0.5 + 0.25 + 0.125));
}

TEST(FullSgd, OfOneThreadIsEpochsOneAfterTheOther) {
  const SparseRows rows = sample_rows(100, 80, 7);
  const LinearModel<double> model(rows, {.passes = 3});
  std::vector<double> x(model.dimensions());
  run_full_sgd<double>(
      model, x, {.epoch = {.iterations = 100, .rate = 0.4}, .epochs = 3});
  std::vector<double> expected(model.dimensions());
  for (std::uint64_t e = 0; e < 3; ++e)
    run_epoch_sgd<double>(
        model, expected,
        {.first = 100 * e,
         .iterations = 100,
         .rate = 0.4 / static_cast<double>(std::uint64_t{1} << e)});
  // The last epoch is a sum, added to where it began.
  for (std::size_t j = 0; j < x.size(); ++j)
    EXPECT_NEAR(x[j], expected[j], 1e-14);
}

// --- All orders of a few steps ----------------------------------------------

// Both threads add 1 to both entries, through all orders of their accesses.
struct TwoAdders : Program {
  explicit TwoAdders(UpdateKind kind)
      : counting(line),
        epoch(counting, x,
              {.kind = kind,
               .threads = 2,
               .iterations = 2,
               .rate = 1,
               .batch = 1}) {}
  void run(int thread) override { epoch.work(thread); }
  void check() override {
    require(epoch.result().iterations == 2, "not two iterations");
    require(x[0] == 2 && x[1] == 2, "an update is lost");
  }

  Quadratic<double> line{2};
  Counting counting;
  std::vector<double> x = {0, 0};
  EpochSgd<double, SimulatedMemory> epoch;
};

TEST(SgdOrders, OnlyHogwildLosesUpdates) {
  for (const UpdateKind kind : kShared) {
    const Exploration found =
        explore(2, [&] { return std::make_unique<TwoAdders>(kind); },
                {.preemptions = 3});
    EXPECT_EQ(found.failure,
              kind == UpdateKind::kHogwild ? "an update is lost" : "")
        << to_string(kind) << "\n"
        << found.describe();
    EXPECT_EQ(found.is_complete, kind != UpdateKind::kHogwild);
  }
}

}  // namespace
}  // namespace weft::concurrent::sgd_test
