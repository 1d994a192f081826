// Staged functions follow what layers take from around them: the mode of each
// layer, the precision, the random key.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/graph/surroundings.h"
#include "weft/nn/nn.h"
#include "weft/ops/ops.h"
#include "weft/ops/recursive.h"
#include "weft/runtime/jit/jit.h"

namespace weft::staged_modes_test {
namespace {

using test::expect_error;

Value key(std::int64_t step) {
  return Tensor::of<std::int64_t>({2}, {5, step});
}

Tensor ones() { return test::pattern({64}, 1, 1.0001); }

TEST(StagedModes, DropoutFollowsItsMode) {
  nn::Dropout layer(0.5);
  const auto f = jit([&](const Value& x) { return layer(x); });
  const RandomKeyScope random(key(0));
  const Tensor dropped = f(ones()).tensor();
  EXPECT_TRUE(identical(dropped, layer(ones()).tensor()));
  EXPECT_FALSE(identical(dropped, ones()));
  for (int round = 0; round < 3; ++round) {
    layer.train(false);
    EXPECT_TRUE(identical(f(ones()).tensor(), ones()));
    layer.train(true);
    EXPECT_TRUE(identical(f(ones()).tensor(), dropped));
  }
  EXPECT_EQ(f.core().trace_count(), 2u);
  EXPECT_EQ(f.core().graph_count(), 2u);
}

TEST(StagedModes, BatchNormFollowsItsMode) {
  nn::BatchNorm layer(3);
  layer.initialize(1);
  const auto f = jit([&](const Value& x) { return layer(x); });
  const Tensor x = test::pattern({8, 3});
  f(x);
  layer.train(false);
  const Tensor staged = f(x).tensor();
  EXPECT_TRUE(test::near(staged, layer(x).tensor(), 1e-6));
  layer.train(true);
  EXPECT_FALSE(test::near(f(x).tensor(), staged, 1e-3));
}

// One layer of two; a branch; a function that is called by the staged one.
TEST(StagedModes, AreFoundWhereverTheyAreRead) {
  nn::Dropout first(0.5);
  nn::Dropout second(0.5);
  const auto inner = jit([&](const Value& x) { return second(x); });
  const auto f = jit([&](const Value& x) {
    const auto dropped = [&] { return std::vector{inner(first(x))}; };
    return cond(
        less(sum(x), scalar(0, DType::kF32)), [&] { return std::vector{x}; },
        dropped)[0];
  });
  const RandomKeyScope random(key(0));
  f(ones());
  for (const bool one : {true, false}) {
    for (const bool other : {true, false}) {
      first.train(one);
      second.train(other);
      EXPECT_TRUE(
          test::near(f(ones()).tensor(), second(first(ones())).tensor(), 0));
    }
  }
  EXPECT_EQ(f.core().trace_count(), 4u);
}

// The body of a recursion is a function of its own.
TEST(StagedModes, AreFoundInRecursions) {
  nn::Dropout layer(0.5);
  const auto f = jit([&](const Value& x) {
    const TensorType number{DType::kF32, {}};
    return recursive("down", {x}, {number},
                     [&](const std::vector<Value>& v, const Recursion& self) {
                       const double step = layer.is_training() ? 2 : 1;
                       return cond(
                           less(v[0], scalar(1, DType::kF32)),
                           [&] { return v; },
                           [&] { return self({v[0] - step}); });
                     })[0];
  });
  const Value five = Tensor::scalar(5.5f);
  EXPECT_EQ(f(five).tensor().item(), -0.5);
  layer.train(false);
  EXPECT_EQ(f(five).tensor().item(), 0.5);
}

TEST(StagedModes, AFunctionThatSwitchesAModeDoesSoInEachTrace) {
  nn::Dropout layer(0.5);
  const auto evaluate = jit([&](const Value& x) {
    layer.train(false);
    return layer(x);
  });
  for (int round = 0; round < 5; ++round) {
    layer.train(true);
    EXPECT_TRUE(identical(evaluate(ones()).tensor(), ones()));
  }
  EXPECT_EQ(evaluate.core().graph_count(), 1u);
}

TEST(StagedModes, EveryKeyDrawsAnewInOneGraph) {
  nn::Sequential model{nn::Dropout(0.5), nn::Dropout(0.5)};
  const auto inner = jit([&](const Value& x) { return model(x); });
  const auto f = jit([&](const Value& x) { return inner(x) * 2; });
  std::vector<Tensor> found;
  for (const std::int64_t step : {0, 1, 2, 3, 0}) {
    const RandomKeyScope random(key(step));
    found.push_back(f(ones()).tensor());
    EXPECT_TRUE(identical(found.back(), (model(ones()) * 2).tensor()));
  }
  EXPECT_FALSE(identical(found[0], found[1]));
  EXPECT_TRUE(identical(found[0], found[4]));
  EXPECT_EQ(f.core().trace_count(), 1u);
  EXPECT_EQ(inner.core().trace_count(), 1u);
  expect_error(ErrorCode::kInvalidArgument, {"no random key"},
               [&] { f(ones()); });
}

// As without jit, who calls the function decides what it draws.
TEST(StagedModes, AHelperDrawsApartInEachLayerThatCallsIt) {
  const auto plain = [](const Value& x) {
    return dropout(x, RandomKeyScope::current(), nn::random_stream(), 0.5);
  };
  const auto helper = jit(plain);
  const auto two_layers = [](const auto& draw, const Value& x) {
    std::vector<Value> found;
    for (const char* name : {"first", "second", "first"}) {
      const LayerScope layer(name);
      found.push_back(draw(x));
    }
    return found;
  };
  const RandomKeyScope random(key(3));
  const auto expected = two_layers(plain, ones());
  EXPECT_FALSE(identical(expected[0].tensor(), expected[1].tensor()));
  const auto outside = two_layers(helper, ones());
  EXPECT_EQ(helper.core().trace_count(), 2u);
  const auto all = jit([&](const Value& x) { return two_layers(helper, x); });
  const auto inside = all(ones());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(identical(outside[i].tensor(), expected[i].tensor()));
    EXPECT_TRUE(identical(inside[i].tensor(), expected[i].tensor()));
  }
  // Whoever calls a function that draws is traced for its layer, too.
  const LayerScope outer("block");
  const auto deeper = all(ones());
  EXPECT_TRUE(
      identical(deeper[0].tensor(), two_layers(plain, ones())[0].tensor()));
  EXPECT_FALSE(identical(deeper[0].tensor(), inside[0].tensor()));
}

// The mask of the backward function is that of the forward function.
TEST(StagedModes, GradientsSeeTheKeyOfTheirCall) {
  nn::Dropout layer(0.5);
  const auto f = jit([&](const Value& x) { return sum(layer(x) * x); });
  for (const std::int64_t step : {0, 1}) {
    Value x = ones();
    Tape tape;
    tape.watch(x);
    Value y;
    {
      const RandomKeyScope random(key(step));
      y = f(x);
    }
    const Tensor slope = tape.gradient(y, {&x, 1})[0].tensor();
    const RandomKeyScope random(key(step));
    EXPECT_TRUE(test::near(slope, (layer(x) * 2).tensor(), 1e-6));
  }
  EXPECT_EQ(f.core().trace_count(), 1u);
}

TEST(StagedModes, AScopeInsideHidesTheOneAround) {
  nn::Dropout layer(0.5);
  const auto f = jit([&](const Value& x, const Value& own) {
    const RandomKeyScope random(own);
    return layer(x);
  });
  const RandomKeyScope random(key(7));
  const Tensor found = f(ones(), key(1)).tensor();
  EXPECT_FALSE(identical(found, f(ones(), key(2)).tensor()));
  const RandomKeyScope other(key(1));
  EXPECT_TRUE(identical(found, layer(ones()).tensor()));
}

TEST(StagedModes, AKeyHasASeedAndAStep) {
  expect_error(ErrorCode::kInvalidArgument, {"i64[2]", "f32[]"},
               [] { RandomKeyScope(Value(Tensor::scalar(1.0f))); });
}

TEST(StagedModes, PrecisionIsPartOfTheKind) {
  nn::Linear layer(4, 3);
  layer.initialize(1);
  const auto f = jit([&](const Value& x) { return layer(x); });
  const Tensor x = test::pattern({2, 4});
  EXPECT_EQ(f(x).dtype(), DType::kF32);
  {
    const PrecisionScope precision(DType::kBF16);
    EXPECT_EQ(f(x).dtype(), DType::kBF16);
  }
  EXPECT_EQ(f(x).dtype(), DType::kF32);
  EXPECT_EQ(f.core().trace_count(), 2u);
}

TEST(StagedModes, SignaturesFollowToo) {
  nn::Dropout layer(0.5);
  const auto f = jit([&](const Value& x) { return layer(x); },
                     {.signature = {{TensorType{DType::kF32, {64}}}}});
  const RandomKeyScope random(key(0));
  EXPECT_FALSE(identical(f(ones()).tensor(), ones()));
  layer.train(false);
  EXPECT_TRUE(identical(f(ones()).tensor(), ones()));
}

}  // namespace
}  // namespace weft::staged_modes_test
