#include "weft/optim/schedule.h"

#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/base/error.h"
#include "weft/optim/clip.h"

namespace weft {
namespace {

TEST(Schedule, ConstantStays) {
  const Schedule schedule{.from = 0.1};
  EXPECT_EQ(schedule.at(0, 100, 10), 0.1);
  EXPECT_EQ(schedule.at(99, 100, 10), 0.1);
}

TEST(Schedule, WarmUpClimbsToTheFirstRate) {
  const Schedule schedule{.from = 0.1, .warmup = 4};
  EXPECT_DOUBLE_EQ(schedule.at(0, 100, 10), 0.025);
  EXPECT_DOUBLE_EQ(schedule.at(3, 100, 10), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(4, 100, 10), 0.1);
}

TEST(Schedule, LinearAndCosineEndAtTheirLast) {
  for (const auto kind : {Schedule::Kind::kLinear, Schedule::Kind::kCosine}) {
    const Schedule schedule{.kind = kind, .from = 1, .to = 0.2};
    EXPECT_DOUBLE_EQ(schedule.at(0, 101, 10), 1);
    EXPECT_NEAR(schedule.at(50, 101, 10), 0.6, 1e-12);
    EXPECT_DOUBLE_EQ(schedule.at(100, 101, 10), 0.2);
  }
}

TEST(Schedule, StepFallsEverySoManyEpochs) {
  const Schedule schedule{
      .kind = Schedule::Kind::kStep, .from = 1, .factor = 0.5, .every = 2};
  EXPECT_EQ(schedule.at(19, 100, 10), 1);
  EXPECT_EQ(schedule.at(20, 100, 10), 0.5);
  EXPECT_EQ(schedule.at(40, 100, 10), 0.25);
}

TEST(Schedule, NamesTheNearestKind) {
  EXPECT_EQ(schedule_kind("cosine"), Schedule::Kind::kCosine);
  EXPECT_THROW(schedule_kind("cosin"), Error);
}

TEST(Clip, ScalesAllBySharedNorm) {
  const std::vector<Value> gradients{Tensor::of<float>({2}, {3, 0}),
                                     Tensor::of<float>({1}, {4})};
  EXPECT_NEAR(global_norm(gradients).tensor().item(), 5, 1e-6);
  const auto clipped = clip_by_global_norm(gradients, 1);
  EXPECT_NEAR(clipped[0].tensor().item(0), 0.6, 1e-5);
  EXPECT_NEAR(clipped[1].tensor().item(0), 0.8, 1e-5);
  const auto kept = clip_by_global_norm(gradients, 10);
  EXPECT_EQ(kept[0].tensor().item(0), 3);
}

}  // namespace
}  // namespace weft
