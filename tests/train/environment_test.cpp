// Environments, and the batches that come of playing them.
#include "weft/data/environment.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/support/errors.h"

#include "weft/train/step/training_data.h"

namespace weft::environment_test {
namespace {

std::vector<double> seen(const Environment& world) {
  const auto now = world.observation();
  return {now.begin(), now.end()};
}

// One step of the equations, written down once more.
std::vector<double> next_state(const std::vector<double>& s, double force) {
  const double sine = std::sin(s[2]);
  const double cosine = std::cos(s[2]);
  const double common = (force + 0.05 * s[3] * s[3] * sine) / 1.1;
  const double turn = (9.8 * sine - cosine * common) /
                      (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1));
  const double move = common - 0.05 * turn * cosine / 1.1;
  return {s[0] + 0.02 * s[1], s[1] + 0.02 * move, s[2] + 0.02 * s[3],
          s[3] + 0.02 * turn};
}

TEST(CartPole, FollowsItsEquations) {
  const auto world = environment_registry().get("cart-pole").make();
  world->reset(3);
  for (const std::int64_t action : {1, 1, 0, 1, 0, 0}) {
    const auto wanted = next_state(seen(*world), action == 1 ? 10 : -10);
    const Environment::Outcome outcome = world->act(action);
    EXPECT_EQ(outcome.reward, 1);
    const auto found = seen(*world);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6);
  }
}

TEST(CartPole, BeginsNearTheMiddleBySeed) {
  const auto world = environment_registry().get("cart-pole").make();
  world->reset(5);
  const auto first = seen(*world);
  for (const double value : first) EXPECT_LE(std::abs(value), 0.05);
  world->act(0);
  world->reset(6);
  EXPECT_NE(seen(*world), first);
  world->reset(5);
  EXPECT_EQ(seen(*world), first);
}

// Pushed one way only, the pole falls the other way within a few steps.
TEST(CartPole, EndsWhenThePoleFalls) {
  const auto world = environment_registry().get("cart-pole").make();
  world->reset(1);
  int steps = 0;
  while (!world->act(1).is_over) ++steps;
  EXPECT_GT(steps, 5);
  EXPECT_LT(steps, 15);
  EXPECT_GT(std::abs(seen(*world)[2]), 0.2);
}

class Episodes : public ::testing::Test {
 protected:
  static std::unique_ptr<TrainingData> open(std::int64_t batch) {
    const BatchSourceDef& def = batch_source_registry().get("environment");
    return def.open({.name = "cart-pole",
                     .folder = {},
                     .augment = {},
                     .batch = batch,
                     .own = complete(def.options("cart-pole"),
                                     {{"measured", std::int64_t{6}}}, "")});
  }

  // A policy that is unsure.
  static std::vector<Tensor> answer(std::span<const Tensor> known) {
    const Tensor p = Tensor::zeros({DType::kF32, {known[0].shape()[0], 1, 2}});
    for (float& value : p.span<float>()) value = 0.5F;
    return {p};
  }

  static std::unique_ptr<BatchSource> playing(
      std::unique_ptr<BatchSource> source) {
    source->answer_with(answer);
    return source;
  }

  static std::vector<Tensor> copies(const Batch& batch) {
    std::vector<Tensor> result;
    for (const Tensor& tensor : batch.tensors) result.push_back(tensor.clone());
    return result;
  }

  static void expect_same(const std::vector<Tensor>& a,
                          const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(identical(a[i], b[i])) << i;
    }
  }
};

TEST_F(Episodes, AreAFunctionOfTheirPosition) {
  const auto source = playing(open(4)->train({}));
  const auto first = copies(source->next());
  const auto second = copies(source->next());
  EXPECT_FALSE(identical(first[0], second[0]));
  source->seek({0, 1});
  expect_same(copies(source->next()), second);
  EXPECT_EQ(source->position(), (BatchPosition{0, 2}));
  source->seek({0, source->batches_per_epoch()});
  EXPECT_EQ(source->position(), (BatchPosition{1, 0}));
  test::expect_error(ErrorCode::kInvalidArgument, {"there is no batch 99"},
                     [&] {
                       source->seek({0, 99});
                     });
}

TEST_F(Episodes, EndWhereTheirWeightsEnd) {
  const auto source = playing(open(4)->train({}));
  const Batch& batch = source->next();
  for (std::int64_t e = 0; e < 4; ++e) {
    const float* weight = batch.tensors[3].data<float>() + 500 * e;
    const float length = std::accumulate(weight, weight + 500, 0.0F);
    EXPECT_EQ(batch.tensors[4].item(e), length);  // a reward of 1 a step
    EXPECT_EQ(weight[static_cast<int>(length) - 1], 1);
    EXPECT_EQ(weight[static_cast<int>(length)], 0);
  }
}

// At each step the advantages of the episodes that last as long add up to
// nothing, and all of them have a deviation of 1.
TEST_F(Episodes, AdvantagesAreInUnitsOfTheirDeviation) {
  const auto source = playing(open(16)->train({}));
  const Batch& batch = source->next();
  double squares = 0;
  double steps = 0;
  for (std::int64_t t = 0; t < 500; ++t) {
    double sum = 0;
    for (std::int64_t e = 0; e < 16; ++e) {
      const double advantage = batch.tensors[2].item(500 * e + t);
      sum += advantage;
      squares += advantage * advantage;
      steps += batch.tensors[3].item(500 * e + t);
    }
    EXPECT_NEAR(sum, 0, 1e-4);
  }
  EXPECT_NEAR(squares / steps, 1, 1e-3);
}

TEST_F(Episodes, OfSeveralWorkersAreThoseOfOne) {
  const auto whole = playing(open(6)->train({}));
  const Tensor all = whole->next().tensors[0].clone();
  std::int64_t begin = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const auto part = playing(open(6)->train({.rank = rank, .ranks = 3}));
    const Batch& batch = part->next();
    EXPECT_EQ(batch.whole_size, 6);
    EXPECT_TRUE(
        identical(batch.tensors[0], all.slice(begin, begin + batch.size)));
    begin += batch.size;
  }
  EXPECT_EQ(begin, 6);
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"train.batch: 1 declines 2 workers"},
                     [&] { open(1)->train({.rank = 0, .ranks = 2}); });
}

TEST_F(Episodes, OfMeasuringAreTheSameInEachPass) {
  const auto data = open(4);
  const auto source = playing(data->measure(DataPart::kTest, {}));
  EXPECT_EQ(source->examples_per_epoch(), 6);
  const auto first = copies(source->next());
  EXPECT_EQ(source->position(), (BatchPosition{1, 0}));
  expect_same(copies(source->next()), first);
}

}  // namespace
}  // namespace weft::environment_test
