// Phases from averages, and sets around where parameters began.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/optimizer_run.h"

#include "weft/optim/wrapper.h"

namespace weft::restart_test {
namespace {

using test::OptimizerRun;

OptimizerRun run_of(const std::string& wrapper, std::vector<float> from) {
  return {wrap_optimizer(make_optimizer("sgd", {}), {wrapper}),
          {Tensor::of<float>({static_cast<Dim>(from.size())}, from)}};
}

TEST(Restart, GoesOnFromTheAverageOfEachPhase) {
  OptimizerRun run = run_of("restart(horizon=2, radius=100)", {0});
  const auto step = [&](float gradient) {
    run.step({Tensor::of<float>({1}, {gradient})}, 1);
    return run.parameter().item();
  };
  EXPECT_FLOAT_EQ(static_cast<float>(step(-4)), 4);
  // 4 and 8 are the first phase.
  EXPECT_FLOAT_EQ(static_cast<float>(step(-4)), 6);
  // The second has eight steps, at a quarter of the rate.
  double sum = 0;
  for (int k = 1; k <= 8; ++k) {
    sum += 6 + k;
    const double expected = k < 8 ? 6 + k : sum / 8;
    EXPECT_FLOAT_EQ(static_cast<float>(step(-4)), static_cast<float>(expected));
    EXPECT_FLOAT_EQ(static_cast<float>(run.slot(1).item()),
                    static_cast<float>(sum / k));
  }
  EXPECT_FLOAT_EQ(static_cast<float>(step(-16)), 10.5f + 1);
}

TEST(Restart, HalvesTheBallAroundWhereAPhaseBegins) {
  OptimizerRun run = run_of("restart(horizon=1, radius=5)", {3, 4});
  const auto far = [&] {
    run.step({Tensor::of<float>({2}, {-300, -400})}, 1);
    return run.parameter();
  };
  // A phase of one step ends where its ball does.
  EXPECT_NEAR(far().item(0), 6, 1e-5);
  EXPECT_NEAR(run.parameter().item(1), 8, 1e-5);
  EXPECT_NEAR(far().item(0), 7.5, 1e-5);
  for (int k = 0; k < 3; ++k) far();
  EXPECT_NEAR(run.parameter().item(1), 10, 1e-5);
  EXPECT_NEAR(far().item(1), 11, 1e-5);
}

// On a strongly convex function the error falls from phase to phase.
TEST(Restart, ConvergesWhereNoiseStays) {
  OptimizerRun run = run_of("restart(horizon=20, radius=4)", {0});
  double error = 2;
  for (int phase = 0; phase < 4; ++phase) {
    const int steps = 20 * (1 << (2 * phase));
    for (int k = 0; k < steps; ++k) {
      const double noise = k % 2 == 0 ? 1 : -1;
      run.step(
          {Tensor::of<float>(
              {1}, {static_cast<float>(run.parameter().item() - 2 + noise)})},
          0.5);
    }
    const double now = std::abs(run.parameter().item() - 2);
    EXPECT_LT(now, error);
    error = now;
  }
  EXPECT_LT(error, 0.05);
}

TEST(Project, AroundTheStartLeavesWhatIsWithin) {
  OptimizerRun run =
      run_of("project(onto=ball(radius=2), around=start)", {10, 10});
  const auto step = [&](float x, float y) {
    run.step({Tensor::of<float>({2}, {-x, -y})}, 1);
  };
  step(1, 0.1f);
  // No bit is another than plain SGD's.
  EXPECT_EQ(static_cast<float>(run.parameter().item(0)), 10.0f + 1.0f);
  EXPECT_EQ(static_cast<float>(run.parameter().item(1)), 10.0f + 0.1f);
  step(30, 40);
  EXPECT_NEAR(
      std::hypot(run.parameter().item(0) - 10, run.parameter().item(1) - 10), 2,
      1e-5);
  OptimizerRun nowhere =
      run_of("project(onto=ball(radius=0), around=start)", {3});
  nowhere.step({Tensor::of<float>({1}, {1})}, 1);
  EXPECT_EQ(nowhere.parameter().item(), 3);
}

}  // namespace
}  // namespace weft::restart_test
