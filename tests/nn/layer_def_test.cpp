#include "weft/nn/layer_def.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/base/call_reader.h"
#include "weft/graph/surroundings.h"
#include "weft/nn/conv2d.h"
#include "weft/nn/linear.h"
#include "weft/nn/pool.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"

namespace weft::layer_def_test {
namespace {

using test::expect_error;
using testing::contents;
using Calls = std::vector<std::string>;

// An example that a layer takes.
ModelInput input_of(const LayerDef& def) {
  const Shape shapes[] = {{8, 6, 32}, {8}, {8, 32}, {8, 6, 32}};
  return {.example = shapes[def.rank], .classes = 10};
}

std::string call_of(const LayerDef& def) {
  return def.name == "residual" ? "residual([relu])" : def.name;
}

class EveryLayer : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryLayer, MakesTheShapeThatIsSaidInTrainingAndAfter) {
  const LayerDef& def = layer_registry().get(GetParam());
  const ModelInput input = input_of(def);
  LayerStack stack = stack_layers({call_of(def)}, input);
  EXPECT_TRUE(stack.layers.is_training());
  stack.layers.initialize(1);
  Shape batch{3};
  Shape made{3};
  for (const Dim dim : input.example.dims()) batch.push_back(dim);
  for (const Dim dim : stack.made.dims()) made.push_back(dim);
  const DType dtype = def.takes_indices ? DType::kI32 : DType::kF32;
  const Value key = Tensor::of<std::int64_t>({2}, {1, 2});
  const RandomKeyScope random(key);
  for (const bool is_training : {true, false}) {
    stack.layers.train(is_training);
    const Value y = stack.layers(full({dtype, batch}, 1));
    EXPECT_EQ(y.shape(), made);
  }
  if (def.makes == "the same") {
    EXPECT_EQ(stack.made, input.example);
  }
  EXPECT_FALSE(def.summary.empty() || def.takes.empty() || def.makes.empty());
}

INSTANTIATE_TEST_SUITE_P(All, EveryLayer,
                         ::testing::ValuesIn(names_of(layer_registry())),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(StackLayers, ComputesWhatTheClassesDo) {
  LayerStack stack = stack_layers({"conv2d(4, kernel=2, padding=0, bias=false)",
                                   "relu", "max-pool", "flatten", "linear"},
                                  {.example = {5, 5, 2}, .classes = 3});
  EXPECT_EQ(stack.made, Shape({3}));
  nn::Sequential by_hand;
  by_hand.add("conv2d1", nn::Conv2d(2, 4, 2, {.padding = 0, .bias = false}))
      .add(nn::relu)
      .add(nn::MaxPool2d(2))
      .add(nn::Flatten())
      .add("linear1", nn::Linear(2 * 2 * 4, 3));
  // First values are drawn by name.
  stack.layers.initialize(5);
  by_hand.initialize(5);
  const Value x = reshape(iota(50, DType::kF32), {1, 5, 5, 2}) * 0.01;
  EXPECT_TENSOR(stack.layers(x), by_hand(x));
}

TEST(StackLayers, NamesDoNotChangeWithWhatIsBetween) {
  const auto names = [](const Calls& calls) {
    std::vector<std::string> found;
    const LayerStack stack = stack_layers(calls, {.example = {4}});
    for (const auto& each : stack.layers.parameters()) {
      found.push_back(each.name);
    }
    return found;
  };
  const std::vector<std::string> expected{"linear1.weight", "linear1.bias",
                                          "linear2.weight"};
  EXPECT_EQ(names({"linear(3)", "linear(2, bias=false)"}), expected);
  EXPECT_EQ(names({"linear(3)", "relu", "dropout", "linear(2, bias=false)"}),
            expected);
  EXPECT_EQ(names({"residual([linear(4, bias=false)])"}),
            (std::vector<std::string>{"residual1.layers.linear1.weight"}));
}

TEST(StackLayers, AddsTheShortcut) {
  LayerStack stack =
      stack_layers({"residual([residual([relu]), relu])"}, {.example = {3}});
  stack.layers.initialize(1);
  EXPECT_TENSOR(stack.layers(testing::f32({1, 3}, {-2, 0, 1})),
                testing::f32({1, 3}, {-2, 0, 3}));
}

TEST(StackLayers, RefusesWithThePlaceAndWhatWorks) {
  const auto refuse = [](const Calls& calls, const ModelInput& input,
                         std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { stack_layers(calls, input); });
  };
  const ModelInput image{.example = {8, 8, 1}};
  refuse({"relu", "conv2"}, image, {"layers.1", "did you mean 'conv2d'?"});
  refuse({"conv2d(4, kernal=3)"}, image, {"layers.0", "'kernel'"});
  refuse({"conv2d(stride=0)"}, image, {"layers.0", "stride", "[1, "});
  refuse({"flatten", "max-pool"}, image,
         {"layers.1, max-pool", "[height, width, channels]", "f32[64]",
          "what takes it", "layer-norm"});
  refuse({"flatten", "embedding"}, image, {"layers.1", "words", "f32[64]"});
  refuse({"max-pool(9)"}, image,
         {"layers.0, max-pool(window=9)", "does not fit"});
  refuse({"linear"}, image, {"layers.0", "linear(10)"});
  refuse({"embedding(4)"}, {.example = {8}}, {"layers.0", "words"});
  refuse({"conv2d(6)", "group-norm(4)"}, image, {"layers.1", "4 groups"});
  refuse({"residual([])"}, image, {"layers.0", "beside the shortcut"});
  refuse({"relu", "residual([conv2d(4)])"}, image,
         {"layers.1", "[8, 8, 4]", "[8, 8, 1]"});
  refuse({"residual([relu, linear(0)])"}, image,
         {"at: layers.1, linear", "at: layers.0, residual"});
}

TEST(SequentialModel, TellsAsManyNumbersAsTheTask) {
  const ModelDef& def = model_registry().get("sequential");
  const auto build = [&](const ModelInput& input, const Calls& calls) {
    return build_model(def, input, {{"layers", calls}});
  };
  EXPECT_EQ(build({.example = {4}, .classes = 3}, {"linear(2)", "linear"})
                ->parameter_count(),
            4 * 2 + 2 + 2 * 3 + 3);
  const auto refuse = [&](const ModelInput& input, const Calls& calls,
                          std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { build(input, calls); });
  };
  refuse({.example = {4}, .classes = 3}, {}, {"of which layers", "linear"});
  refuse({.example = {4}, .classes = 3}, {"linear(2)"}, {"[2]", "[3]"});
  refuse({.example = {4, 4, 1}, .classes = 3}, {"linear"},
         {"[4, 4, 3]", "\"flatten\", \"linear\""});
  refuse({.example = {4}, .classes = 3, .lanes = 2},
         {"embedding(4)", "last-step", "linear"}, {"[3]", "[steps, 3]"});
}

TEST(SequentialModel, RunsOnThroughText) {
  const auto model = build_model(
      model_registry().get("sequential"),
      {.example = {5}, .classes = 7, .lanes = 2},
      {{"layers", Calls{"embedding(4)", "lstm(3)", "dropout(0.1)", "linear"}}});
  model->initialize(1);
  model->train(false);
  const Value tokens = full({DType::kI32, {2, 5}}, 0);
  auto& layer = dynamic_cast<nn::Layer&>(*model);
  const Tensor first = layer(tokens).tensor();
  // Language models tell the steps first.
  EXPECT_EQ(first.shape(), Shape({5, 2, 7}));
  EXPECT_FALSE(identical(layer(tokens).tensor(), first));
}

}  // namespace
}  // namespace weft::layer_def_test
