#include "weft/optim/schedule.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/base/error.h"
#include "weft/optim/clip.h"

namespace weft::schedule_test {
namespace {

double rate(const char* text, std::int64_t step, std::int64_t steps = 101) {
  return parse_schedule(text, 0.1).at(step, steps, /*steps_per_epoch=*/10);
}

TEST(Schedule, ConstantStays) {
  EXPECT_EQ(rate("constant", 0), 0.1);
  EXPECT_EQ(rate("constant(0.3)", 99), 0.3);
  EXPECT_EQ(constant_rate(0.3).at(7, 10, 10), 0.3);
}

TEST(Schedule, WarmUpClimbsToTheFirstRate) {
  EXPECT_DOUBLE_EQ(rate("constant(warmup=4)", 0), 0.025);
  EXPECT_DOUBLE_EQ(rate("constant(warmup=4)", 3), 0.1);
  EXPECT_DOUBLE_EQ(rate("constant(warmup=4)", 4), 0.1);
}

TEST(Schedule, LinearAndCosineEndAtTheirLast) {
  for (const char* text : {"linear(1, to=0.2)", "cosine(1, to=0.2)"}) {
    EXPECT_DOUBLE_EQ(rate(text, 0), 1);
    EXPECT_NEAR(rate(text, 50), 0.6, 1e-12);
    EXPECT_DOUBLE_EQ(rate(text, 100), 0.2);
  }
}

TEST(Schedule, StepFallsEverySoManyEpochs) {
  const char* text = "step(1, factor=0.5, every=2)";
  EXPECT_EQ(rate(text, 19), 1);
  EXPECT_EQ(rate(text, 20), 0.5);
  EXPECT_EQ(rate(text, 40), 0.25);
}

TEST(Schedule, PolynomialIsAPowerOfWhatIsLeft) {
  EXPECT_DOUBLE_EQ(rate("polynomial(1, to=0.5, power=2)", 50), 0.625);
  EXPECT_DOUBLE_EQ(rate("polynomial(1, to=0.5, power=2)", 100), 0.5);
}

TEST(Schedule, InverseSqrtHalvesAfterFourTimesTheWarmUp) {
  EXPECT_DOUBLE_EQ(rate("inverse-sqrt(warmup=10)", 9), 0.1);
  EXPECT_DOUBLE_EQ(rate("inverse-sqrt(warmup=10)", 39), 0.05);
  EXPECT_DOUBLE_EQ(rate("inverse-sqrt", 0), 0.1);
}

TEST(Schedule, OneCycleClimbsAndFallsBelowItsStart) {
  const char* text = "one-cycle(1, rise=0.25, first=10, last=100)";
  EXPECT_NEAR(rate(text, 0), 0.1, 1e-12);
  EXPECT_NEAR(rate(text, 25), 1, 1e-12);
  EXPECT_NEAR(rate(text, 100), 0.01, 1e-12);
}

// Each as it stands in checkpoints.
TEST(Schedule, TextReadsBackAsTheSame) {
  for (const ScheduleDef& def : schedule_registry().all()) {
    const Schedule schedule =
        parse_schedule(def.name + "(from=0.5, warmup=3)", 0.1);
    EXPECT_EQ(parse_schedule(to_string(schedule), 0.1), schedule) << def.name;
    for (const std::int64_t step : {0, 3, 50, 100, 200}) {
      const double found = schedule.at(step, 101, 10);
      EXPECT_GE(found, 0) << def.name;
      EXPECT_LE(found, 0.5) << def.name;
    }
  }
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(parse_schedule("cosin", 0.1), Error);
  EXPECT_THROW(parse_schedule("cosine(form=1)", 0.1), Error);
  EXPECT_THROW(parse_schedule("cosine(from=0)", 0.1), Error);
  EXPECT_THROW(parse_schedule("step(every=0)", 0.1), Error);
  EXPECT_THROW(parse_schedule("linear(0.1) now", 0.1), Error);
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

// Their squares are infinite in f32; a step of 0 would hide it.
TEST(Clip, MakesNoZerosOfGradientsThatExplode) {
  const std::vector<Value> gradients{Tensor::of<float>({2}, {3e20f, 1})};
  EXPECT_TRUE(
      std::isnan(clip_by_global_norm(gradients, 1)[0].tensor().item(0)));
}

}  // namespace
}  // namespace weft::schedule_test
