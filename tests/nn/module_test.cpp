#include "weft/nn/module.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/base/philox.h"
#include "weft/nn/init.h"
#include "weft/nn/model.h"
#include "weft/nn/nn.h"

namespace weft::module_test {
namespace {

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& named : module.parameters()) names.push_back(named.name);
  return names;
}

TEST(Module, NamesArePaths) {
  const nn::ResidualBlock block(4, 4, 1);
  const auto names = names_of(block);
  EXPECT_EQ(names.front(), "conv1.weight");
  EXPECT_EQ(names.back(), "bn2.running_var");
}

TEST(Module, StartsTheSameForTheSameSeedAndName) {
  nn::Linear a(7, 5);
  nn::Linear b(7, 5);
  a.initialize(1);
  b.initialize(1);
  const auto value = [](nn::Linear& layer) {
    return nn::find_parameter(layer, "weight")->variable.tensor();
  };
  EXPECT_TRUE(identical(value(a), value(b)));
  b.initialize(2);
  EXPECT_FALSE(identical(value(a), value(b)));
}

TEST(Module, DifferentNamesStartDifferently) {
  nn::Sequential model{nn::Linear{4, 4}, nn::Linear{4, 4}};
  model.initialize(1);
  EXPECT_FALSE(
      identical(nn::find_parameter(model, "0.weight")->variable.tensor(),
                nn::find_parameter(model, "1.weight")->variable.tensor()));
}

TEST(Module, UniformStartStaysInItsBound) {
  nn::Linear layer(16, 1000);
  layer.initialize(1);
  double low = 0;
  double high = 0;
  for (const float w :
       nn::find_parameter(layer, "weight")->variable.tensor().span<float>()) {
    low = std::min<double>(low, w);
    high = std::max<double>(high, w);
  }
  EXPECT_GE(low, -0.25);
  EXPECT_LT(high, 0.25);
  EXPECT_LT(low, -0.24);
  EXPECT_GT(high, 0.24);
}

TEST(Module, NormalStartHasItsDeviation) {
  const Tensor drawn = nn::initial_value({DType::kF32, {10000}},
                                         nn::Init::normal(2), 1, "table");
  double sum = 0;
  double squares = 0;
  for (const float x : drawn.span<float>()) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.08);
  EXPECT_NEAR(std::sqrt(squares / 10000), 2, 0.08);
}

// Runs of one seed start alike on every machine, with any number of threads:
// each element follows from its own word of the stream, by the scalar functions
// of base/philox.h.
TEST(Module, EachElementStartsAsItsWordSays) {
  constexpr std::int64_t kSize = 100003;
  const TensorType type{DType::kF32, {kSize}};
  const Tensor uniform =
      nn::initial_value(type, nn::Init::uniform(0.3), 7, "w");
  const Tensor normal = nn::initial_value(type, nn::Init::normal(0.3), 7, "w");
  const RandomStream random{7, nn::stream_of("w"), 0};
  for (std::size_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(uniform.span<float>()[i],
              (2 * uniform_from(random.word(i)) - 1) * 0.3F)
        << i;
    const std::size_t pair = i / 2 * 2;
    ASSERT_EQ(
        normal.span<float>()[i],
        normal_from(random.word(pair), random.word(pair + 1))[i % 2] * 0.3F)
        << i;
  }
}

TEST(Module, RefusesSidesBelowZero) {
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"'weight'", "a side of -1 elements"},
                     [] { nn::Linear(-1, 3); });
}

TEST(Module, SaysThatItHasNoValuesYet) {
  nn::Linear layer(2, 2);
  try {
    layer(Tensor::zeros({DType::kF32, {1, 2}}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("initialize"), std::string::npos);
  }
}

TEST(Module, NamesTheNearestParameter) {
  const nn::Linear layer(2, 2);
  try {
    nn::find_parameter(layer, "wieght");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'weight'"), std::string::npos);
  }
}

TEST(Module, TrainReachesChildren) {
  nn::Sequential model{nn::Sequential{nn::Dropout{0.5}}};
  model.train(false);
  // In inference dropout needs no key.
  EXPECT_NO_THROW(model(Tensor::zeros({DType::kF32, {2}})));
}

// Copies of a layer are other layers with its parameters.
TEST(Module, WhatIsSharedIsOneParameter) {
  const nn::Linear layer(3, 3);
  nn::Sequential model{layer, nn::relu, layer};
  EXPECT_EQ(model.parameter_count(), 3 * 3 + 3);
  std::vector<std::string> names;
  for (const auto& named : model.parameters()) names.push_back(named.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias"}));
  model.initialize(1);
  const Tensor x = Tensor::zeros({DType::kF32, {2, 3}});
  FunctionBuilder builder("step");
  const nn::Staging staged(model, builder);
  EXPECT_EQ(staged.arguments().size(), 2u);
}

TEST(ModelZoo, CountsItsParameters) {
  const auto count = [](const char* name, const ModelInput& input) {
    return build_model(model_registry().get(name), input, {})
        ->parameter_count();
  };
  EXPECT_EQ(count("digits-cnn", {.example = {8, 8, 1}, .classes = 10}), 38282);
  EXPECT_EQ(count("mnist-cnn", {.example = {28, 28, 1}, .classes = 10}),
            421642);
  EXPECT_EQ(count("resnet20", {.example = {32, 32, 3}, .classes = 10}), 269722);
  EXPECT_EQ(count("mlp", {.example = {784}, .classes = 10}), 669706);
  EXPECT_EQ(count("lstm-lm", {.example = {35}, .classes = 10000, .lanes = 20}),
            2000000 + 2 * (2 * 200 * 800 + 800) + 200 * 10000 + 10000);
  // The papers' 124 and 110 million. BERT has 1,536 for a second segment too.
  EXPECT_EQ(count("gpt", {.example = {1024}, .classes = 50257}), 124439808);
  EXPECT_EQ(count("bert", {.example = {512}, .classes = 2, .words = 30522}),
            109482240 - 1536 + 2 * 768 + 2);
}

TEST(ModelZoo, NamesParametersByLayer) {
  const auto model = build_model(model_registry().get("resnet20"),
                                 {.example = {32, 32, 3}, .classes = 10}, {});
  EXPECT_NO_THROW(nn::find_parameter(*model, "stage2.0.bn1.running_mean"));
  EXPECT_NO_THROW(nn::find_parameter(*model, "fc.bias"));
}

TEST(ModelZoo, ChecksItsOptions) {
  const ModelDef& mlp = model_registry().get("mlp");
  try {
    build_model(mlp, {.example = {4}, .classes = 2},
                {{"hiden", std::vector<std::int64_t>{3}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'hidden'"),
              std::string::npos);
  }
  EXPECT_THROW(
      build_model(mlp, {.example = {4}, .classes = 2}, {{"hidden", true}}),
      Error);
}

TEST(ModelZoo, RefusesInputThatDoesNotSuit) {
  EXPECT_THROW(build_model(model_registry().get("resnet20"),
                           {.example = {784}, .classes = 10}, {}),
               Error);
  EXPECT_THROW(model_registry().get("resnet200"), Error);
}

}  // namespace
}  // namespace weft::module_test
