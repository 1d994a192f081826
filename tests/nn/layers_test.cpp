#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/graph/builder.h"
#include "weft/nn/nn.h"
#include "weft/nn/staging.h"
#include "weft/ops/arithmetic.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/jit/jit.h"

namespace weft::layers_test {
namespace {

using test::near;

void set(nn::Module& module, const std::string& name, const Tensor& value) {
  nn::find_parameter(module, name)->variable.set_tensor(value);
}

float sigmoid_of(float x) { return 1 / (1 + std::exp(-x)); }

TEST(Linear, MultipliesAndAdds) {
  nn::Linear layer(2, 3);
  set(layer, "weight", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  set(layer, "bias", Tensor::of<float>({3}, {10, 20, 30}));
  const Value y = layer(Tensor::of<float>({2, 2}, {1, 0, 2, -1}));
  EXPECT_TRUE(near(y.tensor(),
                   Tensor::of<float>({2, 3}, {11, 22, 33, 8, 19, 30}), 1e-6));
}

TEST(Linear, KeepsLeadingAxes) {
  nn::Linear layer(2, 3, {.bias = false});
  layer.initialize(1);
  const Tensor x = test::pattern({4, 5, 2});
  const Value y = layer(x);
  EXPECT_EQ(y.shape(), (Shape{4, 5, 3}));
  const Value flat = layer(x.reshape({20, 2}));
  EXPECT_TRUE(near(y.tensor().reshape({20, 3}), flat.tensor(), 1e-6));
}

TEST(Conv2d, SamePaddingKeepsTheSize) {
  nn::Conv2d layer(1, 1, 3);
  set(layer, "weight",
      Tensor::of<float>({3, 3, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  set(layer, "bias", Tensor::of<float>({1}, {0.5f}));
  const Value y = layer(Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 4}));
  EXPECT_TRUE(near(y.tensor(),
                   Tensor::of<float>({1, 2, 2, 1}, {10.5, 10.5, 10.5, 10.5}),
                   1e-6));
}

TEST(Conv2d, StrideHalvesAndGroupsSeparate) {
  nn::Conv2d layer(2, 2, 1, {.stride = 2, .groups = 2, .bias = false});
  set(layer, "weight", Tensor::of<float>({1, 1, 1, 2}, {2, 3}));
  const Tensor x =
      Tensor::of<float>({1, 2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  EXPECT_TRUE(
      near(layer(x).tensor(), Tensor::of<float>({1, 1, 1, 2}, {2, 30}), 1e-6));
}

TEST(Conv2d, RefusesGroupsThatDivideNothing) {
  EXPECT_THROW(nn::Conv2d(3, 4, 3, {.groups = 2}), Error);
}

TEST(BatchNorm, NormalisesTheBatchAndTracksIt) {
  nn::BatchNorm layer(1);
  layer.initialize(1);
  // Mean 2.5, biased variance 1.25, unbiased 5/3.
  const Tensor x = Tensor::of<float>({4, 1}, {1, 2, 3, 4});
  const Tensor y = layer(x).tensor();
  const double scale = 1 / std::sqrt(1.25 + 1e-5);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(y.item(i), (i - 1.5) * scale, 1e-5);
  const auto value = [&](const char* name) {
    return nn::find_parameter(layer, name)->variable.tensor().item();
  };
  EXPECT_NEAR(value("running_mean"), 0.25, 1e-6);
  EXPECT_NEAR(value("running_var"), 0.9 + 0.1 * 5 / 3, 1e-6);
}

TEST(BatchNorm, UsesWhatItTrackedOnceTrained) {
  nn::BatchNorm layer(1);
  layer.initialize(1);
  set(layer, "running_mean", Tensor::of<float>({1}, {2}));
  set(layer, "running_var", Tensor::of<float>({1}, {4}));
  layer.train(false);
  const Tensor y = layer(Tensor::of<float>({2, 1}, {2, 6})).tensor();
  EXPECT_NEAR(y.item(0), 0, 1e-5);
  EXPECT_NEAR(y.item(1), 2, 1e-5);
  EXPECT_EQ(nn::find_parameter(layer, "running_mean")->variable.tensor().item(),
            2);
}

TEST(LayerNorm, NormalisesEachRow) {
  nn::LayerNorm layer(2);
  layer.initialize(1);
  const Tensor y = layer(Tensor::of<float>({2, 2}, {0, 2, 10, 30})).tensor();
  EXPECT_TRUE(near(y, Tensor::of<float>({2, 2}, {-1, 1, -1, 1}), 1e-4));
}

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  nn::RmsNorm layer(2);
  layer.initialize(1);
  const Tensor y = layer(Tensor::of<float>({1, 2}, {3, 4})).tensor();
  const auto root = static_cast<float>(std::sqrt(12.5));
  EXPECT_TRUE(near(y, Tensor::of<float>({1, 2}, {3 / root, 4 / root}), 1e-5));
}

TEST(GroupNorm, NormalisesGroupsOfChannels) {
  nn::GroupNorm layer(2, 4);
  layer.initialize(1);
  const Tensor x = Tensor::of<float>({2, 2, 4}, {0, 2, 10, 30, 2, 0, 30, 10,  //
                                                 0, 4, 1, 3, 0, 4, 1, 3});
  const Tensor y = Tensor::of<float>(
      {2, 2, 4}, {-1, 1, -1, 1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1, -1, 1});
  EXPECT_TRUE(near(layer(x).tensor(), y, 1e-4));
  EXPECT_THROW(nn::GroupNorm(3, 4), Error);
}

TEST(Embedding, LooksUpRows) {
  nn::Embedding layer(3, 2);
  set(layer, "weight", Tensor::of<float>({3, 2}, {0, 1, 10, 11, 20, 21}));
  const Tensor y = layer(Tensor::of<std::int32_t>({2, 1}, {2, 0})).tensor();
  EXPECT_TRUE(near(y, Tensor::of<float>({2, 1, 2}, {20, 21, 0, 1}), 0));
}

TEST(Lstm, EqualsItsEquations) {
  constexpr int kSteps = 3;
  nn::Lstm layer(1, 1);
  const float w[4] = {0.5f, -0.3f, 0.8f, 0.2f};
  const float u[4] = {0.1f, 0.4f, -0.6f, 0.3f};
  const float b[4] = {0.0f, 1.0f, 0.1f, -0.2f};
  set(layer, "0.w_ih", Tensor::of<float>({1, 4}, std::span<const float>(w)));
  set(layer, "0.w_hh", Tensor::of<float>({1, 4}, std::span<const float>(u)));
  set(layer, "0.bias", Tensor::of<float>({4}, std::span<const float>(b)));
  const float x[kSteps] = {1, -2, 0.5f};
  const Tensor y =
      layer(Tensor::of<float>({kSteps, 1, 1}, std::span<const float>(x)))
          .tensor();
  float h = 0;
  float c = 0;
  for (int t = 0; t < kSteps; ++t) {
    float gate[4];
    for (int k = 0; k < 4; ++k) gate[k] = x[t] * w[k] + h * u[k] + b[k];
    c = sigmoid_of(gate[1]) * c + sigmoid_of(gate[0]) * std::tanh(gate[2]);
    h = sigmoid_of(gate[3]) * std::tanh(c);
    EXPECT_NEAR(y.item(t), h, 1e-5);
  }
}

TEST(Lstm, CarriesItsStateOverBatches) {
  nn::Lstm whole(2, 3);
  nn::Lstm parts(2, 3, {.carried_batch = 4});
  whole.initialize(7);
  parts.initialize(7);
  const Tensor x = test::pattern({6, 4, 2});
  const Tensor all = whole(x).tensor();
  EXPECT_TRUE(near(parts(x.slice(0, 2)).tensor(), all.slice(0, 2), 1e-6));
  EXPECT_TRUE(near(parts(x.slice(2, 6)).tensor(), all.slice(2, 6), 1e-6));
}

TEST(Gru, EqualsItsEquations) {
  constexpr int kSteps = 3;
  nn::Gru layer(1, 1);
  const float w[3] = {0.5f, -0.3f, 0.8f};
  const float u[3] = {0.1f, 0.4f, -0.6f};
  const float b[3] = {0.0f, 1.0f, 0.1f};
  const float d[3] = {0.2f, -0.5f, 0.3f};
  set(layer, "0.w_ih", Tensor::of<float>({1, 3}, std::span<const float>(w)));
  set(layer, "0.w_hh", Tensor::of<float>({1, 3}, std::span<const float>(u)));
  set(layer, "0.b_ih", Tensor::of<float>({3}, std::span<const float>(b)));
  set(layer, "0.b_hh", Tensor::of<float>({3}, std::span<const float>(d)));
  const float x[kSteps] = {1, -2, 0.5f};
  const Tensor y =
      layer(Tensor::of<float>({kSteps, 1, 1}, std::span<const float>(x)))
          .tensor();
  float h = 0;
  for (int t = 0; t < kSteps; ++t) {
    const float r = sigmoid_of(x[t] * w[0] + b[0] + h * u[0] + d[0]);
    const float z = sigmoid_of(x[t] * w[1] + b[1] + h * u[1] + d[1]);
    const float n = std::tanh(x[t] * w[2] + b[2] + r * (h * u[2] + d[2]));
    h = (1 - z) * n + z * h;
    EXPECT_NEAR(y.item(t), h, 1e-5);
  }
}

TEST(Dropout, DropsWhileTrainingOnly) {
  nn::Dropout layer(0.5);
  const Tensor ones = test::pattern({1000}, 1, 1.0001);
  const Value key = Tensor::of<std::int64_t>({2}, {3, 1});
  const RandomKeyScope random(key);
  const auto dropped = test::numbers(layer(ones).tensor());
  const auto zeros = std::count(dropped.begin(), dropped.end(), 0.0);
  EXPECT_GT(zeros, 400);
  EXPECT_LT(zeros, 600);
  EXPECT_NEAR(*std::max_element(dropped.begin(), dropped.end()), 2, 1e-3);
  layer.train(false);
  EXPECT_TRUE(near(layer(ones).tensor(), ones, 0));
}

TEST(Dropout, AsksForAKey) {
  nn::Dropout layer(0.5);
  try {
    layer(test::pattern({4}));
    FAIL() << "no key, no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("RandomKeyScope"),
              std::string::npos);
  }
}

TEST(Pool, TakesTheLargestAndTheMean) {
  const Tensor x = Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 6});
  nn::MaxPool2d largest(2);
  nn::AvgPool2d average(2);
  nn::GlobalAvgPool all;
  EXPECT_EQ(largest(x).tensor().item(), 6);
  EXPECT_EQ(average(x).tensor().item(), 3);
  EXPECT_EQ(all(x).shape(), (Shape{1, 1}));
  EXPECT_EQ(all(x).tensor().item(), 3);
}

TEST(ResidualBlock, ShortcutSkipsPixelsAndPadsChannels) {
  nn::ResidualBlock block(2, 4, 2);
  block.initialize(1);
  // With the last scale at zero, the block is relu of its shortcut.
  set(block, "bn2.weight", Tensor::zeros({DType::kF32, {4}}));
  const Tensor x = test::pattern({1, 4, 4, 2}, 0.1, 1);
  const Tensor y = block(x).tensor();
  ASSERT_EQ(y.shape(), (Shape{1, 2, 2, 4}));
  EXPECT_EQ(y.item(0), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(y.item(1)), static_cast<float>(x.item(0)));
  EXPECT_FLOAT_EQ(static_cast<float>(y.item(2)), static_cast<float>(x.item(1)));
  EXPECT_EQ(y.item(3), 0);
  // Second output pixel of the first row: input pixel (0, 2).
  EXPECT_FLOAT_EQ(static_cast<float>(y.item(5)), static_cast<float>(x.item(4)));
}

TEST(Sequential, TakesLayersAndFunctions) {
  nn::Sequential model{nn::Conv2d{1, 4, 3}, nn::relu, nn::MaxPool2d{2},
                       nn::Flatten{}, nn::Linear{16, 3}};
  model.initialize(1);
  EXPECT_EQ(model(test::pattern({5, 4, 4, 1})).shape(), (Shape{5, 3}));
  EXPECT_EQ(model.parameters().back().name, "4.bias");
}

TEST(Precision, BFloat16IsNearF32) {
  nn::Sequential model{nn::Conv2d{2, 4, 3}, nn::BatchNorm{4}, nn::relu,
                       nn::Flatten{}, nn::Linear{64, 3}};
  model.initialize(1);
  const Tensor x = test::pattern({4, 4, 4, 2});
  const Tensor exact = model(x).tensor();
  const PrecisionScope precision(DType::kBF16);
  const Value y = model(x);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_TRUE(near(nn::to_f32(y).tensor(), exact, 0.05));
}

// The same code, run at once and as a function with a symbolic batch.
TEST(Staging, EqualsEagerAndGivesTheModelBack) {
  nn::Sequential model{nn::Conv2d{1, 4, 3}, nn::BatchNorm{4}, nn::relu,
                       nn::Flatten{}, nn::Linear{64, 3}};
  model.initialize(3);
  const Tensor x = test::pattern({6, 4, 4, 1});
  std::vector<Tensor> arguments;
  for (const auto& named : model.parameters()) {
    arguments.push_back(named.parameter->variable.tensor().clone());
  }
  arguments.push_back(x);
  FunctionBuilder builder("model");
  Function function = [&] {
    const nn::Staging staged(model, builder);
    const Value input =
        builder.parameter({DType::kF32, {symbol("N"), 4, 4, 1}}, "x");
    return builder.build([&] {
      std::vector<Value> results{model(input)};
      for (const Value& value : staged.values()) results.push_back(value);
      return results;
    });
  }();
  EXPECT_FALSE(nn::value_of(model.parameters()[0].parameter).is_staged());
  Executable executable(std::move(function));
  const auto staged = executable.run(arguments);
  const Tensor eager = model(x).tensor();
  EXPECT_TRUE(near(staged[0], eager, 1e-5));
  // Running statistics came out as eager execution left them.
  const auto parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(
        near(staged[i + 1], parameters[i].parameter->variable.tensor(), 1e-5))
        << parameters[i].name;
  }
}

// Layers are what they are without jit: parameters are found, statistics move.
TEST(Staging, ByJitEqualsEager) {
  const auto build = [] {
    nn::Sequential model{nn::Linear{3, 4}, nn::BatchNorm{4}, nn::relu,
                         nn::Linear{4, 2}};
    model.initialize(3);
    return model;
  };
  nn::Sequential eager = build();
  nn::Sequential staged = build();
  const auto run = jit([&](const Value& x) { return staged(x); });
  for (int i = 0; i < 3; ++i) {
    const Value x = test::pattern({5, 3}, -1, 1, static_cast<unsigned>(i));
    EXPECT_TRUE(near(run(x).tensor(), eager(x).tensor(), 1e-5));
  }
  EXPECT_EQ(run.core().trace_count(), 1u);
  const auto a = eager.parameters();
  const auto b = staged.parameters();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(near(a[i].parameter->variable.tensor(),
                     b[i].parameter->variable.tensor(), 1e-5))
        << a[i].name;
  }
}

}  // namespace
}  // namespace weft::layers_test
