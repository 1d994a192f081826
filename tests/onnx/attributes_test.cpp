// What attributes and operands of single ops mean, where it is easy to
// misread.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/onnx_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/onnx/onnx.h"
#include "weft/onnx/resizing.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx_attributes_test {
namespace {

using test::call;
using test::expect_error;
using test::OnnxModel;
using test::pattern;
using test::TemporaryFolder;

GraphFunctionRef import(OnnxModel& model,
                        const OnnxImportOptions& options = {}) {
  const TemporaryFolder folder;
  model.save(folder / "model.onnx");
  return import_onnx(folder / "model.onnx", options);
}

// The row of a table whose number is how many rows x has.
TEST(OnnxGather, AnIndexMayBeASizeThatARunTells) {
  for (const bool is_scalar : {true, false}) {
    const Tensor table = pattern({7, 3});
    OnnxModel model;
    model.input("x", {DType::kF32, {symbol("N"), 5}})
        .tensor("table", table)
        .tensor("first",
                Tensor::zeros({DType::kI64, is_scalar ? Shape{} : Shape{1}}))
        .node("Shape", {"x"}, {"shape"})
        .node("Gather", {"shape", "first"}, {"n"})
        .node("Gather", {"table", "n"}, {"y"})
        .output("y");
    const auto function = import(model);
    for (const Dim rows : {2, 5}) {
      const Tensor y = call(*function, {pattern({rows, 5})})[0];
      EXPECT_TRUE(
          identical(y.reshape({3}), table.slice(rows, rows + 1).reshape({3})));
    }
  }
}

// Where "auto_pad" makes as many windows as there are, "ceil_mode" adds none.
TEST(OnnxAveragePool, CountsThePaddingThatItFinds) {
  const Tensor x = pattern({1, 1, 5, 7});
  const auto pooled = [&](std::int64_t ceil_mode) {
    OnnxModel model;
    model.input("x", x.type())
        .node("AveragePool", {"x"}, {"y"},
              {{"kernel_shape", Integers{3, 3}},
               {"strides", Integers{2, 2}},
               {"auto_pad", std::string("SAME_UPPER")},
               {"count_include_pad", std::int64_t{1}},
               {"ceil_mode", ceil_mode}})
        .output("y");
    return call(*import(model), {x})[0];
  };
  EXPECT_EQ(pooled(1).shape(), (Shape{1, 1, 3, 4}));
  EXPECT_TRUE(test::near(pooled(1), pooled(0), 1e-6));
}

// Two directions of one step and one unit, whose weights are 1.
void save_leaky_layer(const std::filesystem::path& path) {
  WireWriter names;
  names.bytes(1, "activations");
  for (const char* name : {"Relu", "LeakyRelu"}) names.bytes(9, name);
  names.integer(20, 8);
  WireWriter alphas;
  alphas.bytes(1, "activation_alpha");
  alphas.real(7, 0.5f);
  alphas.integer(20, 6);
  WireWriter direction;
  direction.bytes(1, "direction");
  direction.bytes(4, "bidirectional");
  direction.integer(20, 3);
  WireWriter node;
  for (const char* name : {"x", "w", "w"}) node.bytes(1, name);
  node.bytes(2, "y");
  node.bytes(4, "RNN");
  for (const WireWriter& each : {names, alphas, direction}) {
    node.message(5, each);
  }
  OnnxModel inner;
  inner.input("x", {DType::kF32, {1, 1, 1}})
      .node("Constant", {}, {"w"},
            {{"value", Tensor::of<float>({2, 1, 1}, {1, 1})}})
      .output("y");
  WireWriter graph = inner.body();
  graph.message(1, node);
  test::save_graph(path, graph);
}

// Alphas are listed for the activations that have one, and not for all.
TEST(OnnxRecurrence, AlphasAreOfTheActivationsThatHaveSome) {
  const TemporaryFolder folder;
  save_leaky_layer(folder / "model.onnx");
  const Tensor y = call(*import_onnx(folder / "model.onnx"),
                        {Tensor::of<float>({1, 1, 1}, {-2})})[0];
  EXPECT_EQ(test::numbers(y), (std::vector<double>{0, -1}));
}

TEST(OnnxQuantization, NamesTheDtypeOfItsResult) {
  OnnxModel model(23);
  model.input("q", {DType::kI8, {2}})
      .tensor("scale", Tensor::scalar(0.5f))
      .node("DequantizeLinear", {"q", "scale"}, {"x"},
            {{"output_dtype", DType::kF16}})
      .node("DequantizeLinear", {"q", "scale"}, {"y"},
            {{"output_dtype", std::int64_t{0}}})
      .output("x")
      .output("y");
  const auto results =
      call(*import(model), {Tensor::of<std::int8_t>({2}, {3, -4})});
  EXPECT_EQ(results[0].dtype(), DType::kF16);
  EXPECT_EQ(results[1].dtype(), DType::kF32);
  EXPECT_EQ(test::numbers(results[0]), (std::vector<double>{1.5, -2}));
}

TEST(OnnxQuantization, RefusesQuotientsOfAnotherDtype) {
  const auto quantizing = [](DType precision) {
    OnnxModel model(23);
    model.input("x", {DType::kF32, {2}})
        .tensor("scale", Tensor::scalar(0.5f))
        .node("QuantizeLinear", {"x", "scale"}, {"q"},
              {{"precision", precision}})
        .output("q");
    return model;
  };
  OnnxModel own = quantizing(DType::kF32);
  EXPECT_EQ(
      test::numbers(call(*import(own), {Tensor::of<float>({2}, {1, 2})})[0]),
      (std::vector<double>{2, 4}));
  OnnxModel other = quantizing(DType::kF16);
  expect_error(ErrorCode::kUnsupported, {"QuantizeLinear", "f16"},
               [&] { import(other); });
}

// One block may be all of the axis.
TEST(OnnxQuantization, BlocksMayBeOne) {
  const auto dequantizing = [](const Shape& scales, std::int64_t axis) {
    OnnxModel model;
    model.input("q", {DType::kI8, {1, 2}})
        .tensor("scale", pattern(scales, 0.5, 1))
        .node("DequantizeLinear", {"q", "scale"}, {"x"},
              {{"block_size", std::int64_t{2}}, {"axis", axis}})
        .output("x");
    return model;
  };
  OnnxModel one = dequantizing({1, 1}, 1);
  EXPECT_EQ(
      call(*import(one), {Tensor::of<std::int8_t>({1, 2}, {0, 0})})[0].shape(),
      (Shape{1, 2}));
  OnnxModel flat = dequantizing({1}, 1);
  expect_error(ErrorCode::kUnsupported, {"DequantizeLinear", "axis 1"},
               [&] { import(flat); });
}

// A result of one pixel has a rule of its own, also where the scale is not
// exactly that.
TEST(OnnxResize, OnePixelIsWhereTheSpecificationHasIt) {
  onnx::ResizeAxis axis{.from = 4, .to = 1, .scale = 0.3, .mode = "linear"};
  axis.coordinates = "pytorch_half_pixel";
  using Taps = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(resize_places(axis)[0].taps, (Taps{{0, 1}}));
  axis.coordinates = "tf_crop_and_resize";
  EXPECT_EQ(resize_places(axis)[0].taps, (Taps{{1, 0.5}, {2, 0.5}}));
}

TEST(OnnxFixedInputs, AreOfTheInputsType) {
  OnnxModel model;
  model.input("x", {DType::kF32, {symbol("N"), 3}})
      .node("Relu", {"x"}, {"y"})
      .output("y");
  const auto fix = [&](const Tensor& x) {
    return import(model, {.shapes = {}, .fixed = {{"x", x}}});
  };
  EXPECT_EQ(fix(pattern({2, 3}))->argument_count(), 0u);
  for (const Tensor& wrong :
       {pattern({2, 4}), pattern({3}), Tensor::zeros({DType::kI64, {2, 3}})}) {
    expect_error(ErrorCode::kInvalidArgument, {"input 'x' is f32[N, 3]"},
                 [&] { fix(wrong); });
  }
}

}  // namespace
}  // namespace weft::onnx_attributes_test
