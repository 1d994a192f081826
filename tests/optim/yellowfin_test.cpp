// YellowFin: its rule beside hand-computed values, and what it measures.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/optimizer_run.h"

#include "weft/base/philox.h"
#include "weft/optim/single_step.h"

namespace weft::yellowfin_test {
namespace {

Value number(double x) { return Tensor::scalar(x, DType::kF64); }
double of(const Value& x) { return x.tensor().item(); }

struct Tuned {
  double momentum;
  double rate;
};

Tuned tuned_for(double least, double most, double variance, double distance) {
  const MomentumTuning tuned = single_step(
      {number(least), number(most), number(variance), number(distance)});
  return {of(tuned.momentum), of(tuned.rate)};
}

void expect_tuned(const Tuned& tuned, double momentum, double rate) {
  EXPECT_NEAR(tuned.momentum, momentum, 2e-5);
  EXPECT_NEAR(tuned.rate, rate, 2e-5);
}

TEST(SingleStep, EqualsHandValues) {
  expect_tuned(tuned_for(1, 4, 1, 1), 0.16830, 0.34781);
  // Here the range of curvatures binds: the rate is at both ends of the region.
  expect_tuned(tuned_for(1, 4, 0.01, 1), 0.11111, 0.44444);
  expect_tuned(tuned_for(1, 4, 100, 1), 0.70348, 0.02601);
  expect_tuned(tuned_for(0.5, 50, 5, 2), 0.66942, 0.06611);
}

TEST(SingleStep, FindsTheRootForAnyP) {
  double before = 1;
  for (double p = 1e-18; p < 1e13; p *= 7) {
    const double x = of(single_step_root(number(p)));
    EXPECT_GT(x, 0) << p;
    EXPECT_LT(x, before) << p;
    EXPECT_NEAR(std::pow(1 - x, 3) / (p * x), 1, 1e-6) << p;
    before = x;
  }
}

// The larger magnitude of the eigenvalues of [[1 - a + m, -m], [1, 0]].
double spectral_radius(double a, double m) {
  const double trace = 1 - a + m;
  const double root = trace * trace - 4 * m;
  if (root < 0) return std::sqrt(m);
  return (std::abs(trace) + std::sqrt(root)) / 2;
}

TEST(SingleStep, StaysInTheRobustRegion) {
  for (const double range : {1.0, 3.0, 100.0, 1e5}) {
    for (const double variance : {1e-6, 0.1, 1e4}) {
      const Tuned tuned = tuned_for(0.3, 0.3 * range, variance, 2);
      for (double h = 0.3; h <= 0.3 * range; h *= 1.1) {
        EXPECT_NEAR(spectral_radius(tuned.rate * h, tuned.momentum),
                    std::sqrt(tuned.momentum), 2e-3)
            << range << " " << variance << " " << h;
      }
      const double beyond =
          1.1 * std::pow(1 + std::sqrt(tuned.momentum), 2) / tuned.rate;
      EXPECT_GT(spectral_radius(tuned.rate * beyond, tuned.momentum),
                1.01 * std::sqrt(tuned.momentum));
    }
  }
}

class TunedRun {
 public:
  explicit TunedRun(const Options& options = {}, std::size_t size = 1,
                    double first = 1)
      : size_(size),
        run_(make_optimizer("yellowfin", options),
             {Tensor::of<float>({static_cast<Dim>(size)},
                                std::span<const float>(std::vector<float>(
                                    size, static_cast<float>(first))))}) {}

  void step(const std::vector<double>& gradient, double lr = 1) {
    const std::vector<float> values(gradient.begin(), gradient.end());
    run_.step({Tensor::of<float>({static_cast<Dim>(size_)},
                                 std::span<const float>(values))},
              lr);
  }
  void step(double gradient, double lr = 1) {
    step(std::vector<double>(size_, gradient), lr);
  }
  // In the order of shared_slots().
  double least() const { return std::exp(run_.shared(2).item() / weight()); }
  double most() const { return run_.shared(7).item(); }
  double distance() const { return run_.shared(6).item() / weight(); }
  double momentum() const { return run_.shared(8).item(); }
  double rate() const { return run_.shared(9).item(); }
  double count() const { return run_.shared(0).item(); }
  double squares() const { return run_.shared(4).item() / weight(); }
  double variance() const {
    double sum = squares();
    for (std::size_t i = 0; i < size_; ++i) {
      sum -= std::pow(
          run_.slot(1).item(static_cast<std::int64_t>(i)) / weight(), 2);
    }
    return sum;
  }
  double parameter(std::int64_t i = 0) const {
    return run_.parameter().item(i);
  }
  bool is_finite() const {
    return std::isfinite(parameter()) && std::isfinite(momentum()) &&
           std::isfinite(rate()) && std::isfinite(most());
  }

 private:
  double weight() const { return 1 - std::pow(0.999, count()); }

  std::size_t size_;
  test::OptimizerRun run_;
};

TEST(YellowFin, EqualsHandValuesOfThreeSteps) {
  TunedRun run;
  run.step(1);
  EXPECT_EQ(run.momentum(), 0);
  EXPECT_EQ(run.rate(), 1e-4);
  EXPECT_NEAR(run.parameter(), 1 - 1e-4, 1e-7);
  run.step(2);
  EXPECT_NEAR(run.least(), 1.000002, 1e-6);
  EXPECT_NEAR(run.most(), 2.000696, 1e-5);
  EXPECT_NEAR(run.variance(), 0.25, 1e-5);
  EXPECT_NEAR(run.distance(), 0.799859, 1e-5);
  EXPECT_NEAR(run.momentum(), 0.081398, 2e-5);
  EXPECT_NEAR(run.rate(), 0.005108, 2e-6);
  run.step(0.5);
  EXPECT_NEAR(run.least(), 0.629672, 1e-5);
  EXPECT_NEAR(run.most(), 2.521010, 1e-5);
  EXPECT_NEAR(run.variance(), 0.389028, 1e-5);
  EXPECT_NEAR(run.distance(), 0.755417, 1e-5);
  EXPECT_NEAR(run.momentum(), 0.231295, 2e-5);
  EXPECT_NEAR(run.rate(), 0.006418, 2e-6);
}

// The second gradient, of norm 2, is applied with norm sqrt(h_max) = 1.
TEST(YellowFin, ClipsByTheCurvatureOfTheStepBefore) {
  for (const bool clip : {true, false}) {
    TunedRun run({{"clip", clip}});
    run.step(1);
    run.step(2);
    const double velocity = 0.081398 * 1 + (clip ? 1 : 2);
    EXPECT_NEAR(run.parameter(), 1 - 1e-4 - 0.005108 * velocity, 1e-6) << clip;
  }
}

// Gradients (t + 1) of n elements, whose measures are known in closed form.
TEST(YellowFin, MeasuresWhatGradientsSay) {
  constexpr int kSteps = 60;
  constexpr std::size_t kSize = 5;
  TunedRun run({{"guard", 0.0}}, kSize);
  double log_least = 0;
  double log_most = 0;
  double squares = 0;
  double mean = 0;
  double norms = 0;
  double distance = 0;
  for (int t = 0; t < kSteps; ++t) {
    run.step(t + 1, 0);
    const auto follow = [](double& slot, double now) {
      slot = 0.999 * slot + 0.001 * now;
    };
    const auto square_of = [](double g) { return g * g * kSize; };
    follow(log_least, std::log(square_of(std::max(1, t + 2 - 20))));
    follow(log_most, std::log(square_of(t + 1)));
    follow(squares, square_of(t + 1));
    follow(mean, t + 1);
    follow(norms, std::sqrt(square_of(t + 1)));
    follow(distance, norms / squares);
  }
  const double weight = 1 - std::pow(0.999, kSteps);
  EXPECT_NEAR(run.least() / std::exp(log_least / weight), 1, 1e-3);
  EXPECT_NEAR(run.most() / std::exp(log_most / weight), 1, 1e-3);
  EXPECT_NEAR(run.distance() / (distance / weight), 1, 1e-3);
  const double variance = squares / weight - kSize * std::pow(mean / weight, 2);
  EXPECT_NEAR(run.variance() / variance, 1, 1e-3);
}

// Gradients of 0.1 and noise of 1 in each of many elements: one of 16 workers
// and, with a quarter of the noise, their mean.
TEST(YellowFin, TunesForTheMeanOfCopies) {
  constexpr std::size_t kSize = 2000;
  constexpr std::int64_t kWorkers = 16;
  TunedRun of_worker({{"mean_of", kWorkers}}, kSize);
  TunedRun of_mean({}, kSize);
  TunedRun of_nothing({}, kSize);
  for (std::uint32_t t = 0; t < 300; ++t) {
    std::vector<double> own(kSize);
    std::vector<double> mean(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto words = RandomStream{3, 0, t}.block(i);
      const auto noise = normal_from(words[0], words[1]);
      own[i] = 0.1 + static_cast<double>(noise[0]);
      mean[i] = 0.1 + static_cast<double>(noise[1]) / std::sqrt(kWorkers);
    }
    of_worker.step(own, 0);
    of_mean.step(mean, 0);
    of_nothing.step(own, 0);
  }
  EXPECT_NEAR(of_worker.rate() / of_mean.rate(), 1, 0.15);
  EXPECT_NEAR(of_worker.momentum() / of_mean.momentum(), 1, 0.1);
  EXPECT_LT(of_nothing.rate(), 0.3 * of_mean.rate());
}

TEST(YellowFin, BearsGradientsOfZero) {
  TunedRun run;
  for (int t = 0; t < 50; ++t) {
    run.step(0);
    ASSERT_TRUE(run.is_finite()) << t;
    EXPECT_LT(run.momentum(), 1);
    EXPECT_GT(run.rate(), 0);
  }
  EXPECT_EQ(run.parameter(), 1);
}

// f32 holds them all, and of some not the square.
TEST(YellowFin, BearsAGradientThatExplodes) {
  for (const double exploded : {1e10, 1e30, 3e38}) {
    TunedRun run;
    const auto usual = [](int t) { return t % 2 == 0 ? 1.0 : 0.6; };
    for (int t = 0; t < 100; ++t) run.step(usual(t), 0.1);
    const double before = run.parameter();
    const double most = run.most();
    run.step(exploded, 0.1);
    // It moves p as one of the largest gradients would.
    EXPECT_LT(std::abs(run.parameter() - before), 0.5) << exploded;
    for (int t = 0; t < 100; ++t) run.step(usual(t), 0.1);
    ASSERT_TRUE(run.is_finite()) << exploded;
    // It was measured as one of a hundred times the curvature, for the twenty
    // steps of the window.
    EXPECT_LT(run.most(), 3 * most) << exploded;
  }
}

// The first gradient is not scaled, and nothing is tuned by it.
TEST(YellowFin, MeasuresLargeGradientsFromTheStart) {
  TunedRun run({}, 3);
  for (int t = 0; t < 5; ++t) run.step(t % 2 == 0 ? 1e25 : 6e24, 0);
  ASSERT_TRUE(run.is_finite());
  EXPECT_GT(run.most(), 1e50);
  EXPECT_GT(run.squares(), 1e50);
}

// What is no number shows where every training looks, with a loop and without.
TEST(YellowFin, HidesNoGradientThatIsNoNumber) {
  for (const bool closed_loop : {false, true}) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      TunedRun run({{"closed_loop", closed_loop}});
      for (const double g : {1.0, 2.0, 0.5}) run.step(g);
      ASSERT_TRUE(std::isfinite(run.parameter()));
      run.step(bad);
      // A square that is no number is in the rate, which a loop uses a step
      // later.
      run.step(1);
      EXPECT_TRUE(std::isnan(run.parameter())) << bad << closed_loop;
    }
  }
}

// Curvatures go with the square of a loss's scale, the distance with its
// inverse: the momentum stays, and the rate goes with the inverse square.
TEST(YellowFin, KnowsTheScaleOfALoss) {
  TunedRun small;
  TunedRun large;
  for (int t = 0; t < 40; ++t) {
    const double g = 2 + std::sin(1.7 * t);
    small.step(g, 0);
    large.step(100 * g, 0);
  }
  EXPECT_NEAR(large.momentum(), small.momentum(), 1e-4);
  EXPECT_NEAR(large.rate() * 1e4 / small.rate(), 1, 1e-3);
}

TEST(YellowFin, StartsSlowly) {
  TunedRun slow;
  TunedRun at_once({{"slow_start", std::int64_t{1}}});
  for (int t = 1; t <= 30; ++t) {
    slow.step(t % 3, 0);
    at_once.step(t % 3, 0);
    if (t == 1) continue;
    EXPECT_NEAR(slow.rate() / at_once.rate(), t / 200.0, 1e-6) << t;
  }
}

TEST(YellowFin, MeasuresWhereTheRateIsZero) {
  TunedRun run;
  for (int t = 0; t < 5; ++t) run.step(t + 1, 0);
  EXPECT_EQ(run.parameter(), 1);
  EXPECT_GT(run.most(), 1);
}

TEST(YellowFin, CountsSparseGradientsByTheirShare) {
  TunedRun dense({}, 4);
  TunedRun sparse({{"sparse", true}}, 4);
  const std::vector<double> gradient{2, 0, 0, 0};
  for (int t = 0; t < 3; ++t) {
    dense.step(gradient, 0);
    sparse.step(gradient, 0);
  }
  EXPECT_NEAR(sparse.most(), dense.most() / 4, 1e-5);
}

TEST(YellowFin, BeginsWithGradientsThatAreZeroThroughout) {
  for (const bool sparse : {false, true}) {
    TunedRun run({{"sparse", sparse}});
    for (int t = 0; t < 3; ++t) run.step(0, 0.1);
    EXPECT_EQ(run.parameter(), 1) << sparse;
    run.step(1, 0.1);
    EXPECT_LT(run.parameter(), 1) << sparse;
  }
}

TEST(YellowFin, DecaysWeightsBeforeItMeasures) {
  TunedRun decayed({{"weight_decay", 0.5}});
  TunedRun plain;
  for (int t = 0; t < 10; ++t) {
    decayed.step(1 - 0.5 * decayed.parameter());
    plain.step(1);
  }
  EXPECT_NEAR(decayed.parameter(), plain.parameter(), 1e-5);
  EXPECT_NEAR(decayed.most(), plain.most(), 1e-5);
}

// A noisy quadratic of curvatures 1 and 4.
TEST(YellowFin, ReachesTheMinimumOfANoisyQuadratic) {
  TunedRun run({}, 2, 3.0);
  const RandomStream random{.seed = 3, .stream = 1, .step = 0};
  for (std::uint64_t t = 0; t < 3000; ++t) {
    const auto noise = normal_from(random.word(2 * t), random.word(2 * t + 1));
    run.step({run.parameter(0) + 0.05 * static_cast<double>(noise[0]),
              4 * run.parameter(1) + 0.05 * static_cast<double>(noise[1])});
  }
  EXPECT_LT(std::abs(run.parameter(0)), 0.1);
  EXPECT_LT(std::abs(run.parameter(1)), 0.01);
}

}  // namespace
}  // namespace weft::yellowfin_test
