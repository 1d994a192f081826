#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/onnx_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/base/file.h"
#include "weft/onnx/node.h"
#include "weft/onnx/onnx.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/conv.h"
#include "weft/ops/join.h"
#include "weft/ops/pool.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx_import_test {
namespace {

using test::call;
using test::expect_error;
using test::near;
using test::OnnxModel;
using test::ops_of;
using test::pattern;
using test::save_graph;
using test::TemporaryFolder;

const TensorType kRow{DType::kF32, {2, 3}};

class OnnxImport : public testing::Test {
 protected:
  GraphFunctionRef import(OnnxModel& model,
                          const OnnxImportOptions& options = {}) {
    model.save(path_);
    return import_onnx(path_, options);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.onnx";
};

// Two convolutions with a shortcut, a pool and a mean over all pixels, as a
// ResNet is made of.
OnnxModel residual_net() {
  OnnxModel model;
  model.input("x", {DType::kF32, {symbol("N"), 3, 8, 8}})
      .tensor("w1", pattern({4, 3, 3, 3}, -1, 1, 1))
      .tensor("b1", pattern({4}, -1, 1, 2))
      .tensor("w2", pattern({4, 4, 3, 3}, -1, 1, 3))
      .node("Conv", {"x", "w1", "b1"}, {"c1"}, {{"pads", Integers{1, 1, 1, 1}}})
      .node("Relu", {"c1"}, {"r1"})
      .node("Conv", {"r1", "w2"}, {"c2"}, {{"pads", Integers{1, 1, 1, 1}}})
      .node("Add", {"c2", "r1"}, {"sum"})
      .node("MaxPool", {"sum"}, {"pool"},
            {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}})
      .node("Concat", {"pool", "pool"}, {"wide"}, {{"axis", std::int64_t{1}}})
      .node("GlobalAveragePool", {"wide"}, {"mean"})
      .node("Flatten", {"mean"}, {"y"})
      .output("y");
  return model;
}

TEST_F(OnnxImport, LeavesOneTranspositionOfAConvolutionalNet) {
  OnnxModel model = residual_net();
  const auto function = import(model);
  const auto ops = ops_of(function->function());
  EXPECT_EQ(std::ranges::count(ops, "transpose"), 1);
  EXPECT_EQ(ops.front(), "transpose");
  EXPECT_EQ(
      to_string(function->function().type(function->function().results()[0])),
      "f32[N, 8]");
  // The same by the engine's ops.
  const Tensor x = pattern({2, 3, 8, 8});
  const auto image = [](const Tensor& nchw) {
    return transpose(Value(nchw), {0, 2, 3, 1});
  };
  const auto weights = [](const Tensor& oihw) {
    return transpose(Value(oihw), {2, 3, 1, 0});
  };
  const Conv2dOptions same{.padding = {1, 1, 1, 1}};
  const Value r1 =
      relu(conv2d(image(x), weights(pattern({4, 3, 3, 3}, -1, 1, 1)), same) +
           Value(pattern({4}, -1, 1, 2)));
  const Value sum =
      conv2d(r1, weights(pattern({4, 4, 3, 3}, -1, 1, 3)), same) + r1;
  const Value expected = mean(max_pool(sum, {}), {1, 2});
  const Value twice[] = {expected, expected};
  EXPECT_TRUE(near(call(*function, {x})[0], concat(twice, 1).tensor(), 1e-5));
}

// A mask of bool, or of what is added, with 1 or -inf behind the diagonal.
template <class T>
Tensor triangle(T seen, T later) {
  Tensor mask = Tensor::empty({dtype_of<T>(), {1, 5, 6}});
  for (std::int64_t i = 0; i < 30; ++i) {
    mask.data<T>()[i] = i % 6 <= i / 6 ? seen : later;
  }
  return mask;
}

TEST_F(OnnxImport, ComputesMasksOfDecoders) {
  const Tensor x = pattern({2, 5, 6});
  const auto masked = [&](const Tensor& mask, const char* op) {
    OnnxModel model;
    model.input("x", {DType::kF32, {2, 5, 6}})
        .tensor("mask", mask)
        .tensor("fill", Tensor::scalar(-9.0F));
    if (op == std::string("Where")) {
      model.node("Where", {"mask", "x", "fill"}, {"y"});
    } else {
      model.node("Add", {"x", "mask"}, {"y"});
    }
    model.output("y");
    return import(model);
  };
  const auto is_computed = [](const GraphFunctionRef& function) {
    return std::ranges::count(ops_of(function->function()), "iota") == 2 &&
           function->function().parameters().size() == 1;
  };
  for (const bool seen : {true, false}) {
    const auto function = masked(triangle(seen, !seen), "Where");
    EXPECT_TRUE(is_computed(function));
    const Tensor y = call(*function, {x})[0];
    for (std::int64_t i = 0; i < 60; ++i) {
      const bool is_up_to = i % 6 <= i / 6 % 5;
      EXPECT_EQ(y.item(i), is_up_to == seen ? x.item(i) : -9) << i;
    }
  }
  const auto added = masked(triangle(0.0F, -INFINITY), "Add");
  EXPECT_TRUE(is_computed(added));
  EXPECT_EQ(call(*added, {x})[0].item(1), -INFINITY);
  EXPECT_EQ(call(*added, {x})[0].item(6), x.item(6));
  // One element is another one, or the fill is a score like others.
  Tensor odd = triangle(0.0F, -INFINITY);
  odd.data<float>()[29] = 1;
  EXPECT_FALSE(is_computed(masked(odd, "Add")));
  EXPECT_EQ(call(*masked(odd, "Add"), {x})[0].item(29), x.item(29) + 1);
  EXPECT_FALSE(is_computed(masked(triangle(0.0F, -5.0F), "Add")));
}

// What exporters write for x.view(x.shape[0], -1).
TEST_F(OnnxImport, ComputesShapesWhileImporting) {
  OnnxModel model;
  model.input("x", {DType::kF32, {symbol("N"), 4, 5}})
      .list("zero", {0})
      .list("rest", {-1})
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"n"})
      .node("Mul", {"n", "n"}, {"square"})
      .node("Div", {"square", "n"}, {"again"})
      .node("Concat", {"again", "rest"}, {"to"}, {{"axis", std::int64_t{0}}})
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
  const auto function = import(model);
  EXPECT_EQ(ops_of(function->function()),
            (std::vector<std::string>{"reshape"}));
  const Tensor x = pattern({3, 4, 5});
  EXPECT_TRUE(identical(call(*function, {x})[0], x.reshape({3, 20})));
}

TEST_F(OnnxImport, NumbersOfShapesCanBeResults) {
  OnnxModel model;
  model.input("x", {DType::kF32, {symbol("N"), 4}})
      .node("Shape", {"x"}, {"y"})
      .output("y");
  const auto function = import(model);
  const Tensor y = call(*function, {pattern({7, 4})})[0];
  EXPECT_EQ(y.item(0), 7);
  EXPECT_EQ(y.item(1), 4);
}

TEST_F(OnnxImport, NamesAllThatItCannotImport) {
  OnnxModel model;
  model.input("x", kRow)
      .node("NonZero", {"x"}, {"a"})
      .node("StringConcat", {"x", "x"}, {"b"})
      .node("Relu", {"a"}, {"c"})
      .output("c");
  expect_error(ErrorCode::kUnsupported,
               {"2 of the model's nodes", "NonZero_node (NonZero, opset 21)",
                "StringConcat_node (StringConcat, opset 21)"},
               [&] { import(model); });
}

TEST_F(OnnxImport, SaysWhichInputDecidesAShape) {
  OnnxModel model;
  model.input("x", kRow)
      .input("to", {DType::kI64, {1}})
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
  expect_error(ErrorCode::kUnsupported,
               {"'to' is computed from inputs of the graph"},
               [&] { import(model); });
  const Tensor six = Tensor::of<std::int64_t>({1}, {6});
  const auto function = import(model, {.shapes = {}, .fixed = {{"to", six}}});
  EXPECT_EQ(function->argument_count(), 1u);
  EXPECT_EQ(call(*function, {pattern({2, 3})})[0].shape(), (Shape{6}));
  expect_error(ErrorCode::kInvalidArgument, {"no input 'too'", "'to'"}, [&] {
    import(model, {.shapes = {}, .fixed = { { "too", six } }});
  });
}

TEST_F(OnnxImport, ShapesMayBeGiven) {
  OnnxModel model;
  model.input("x", {DType::kF32, {symbol("A"), symbol("B")}})
      .node("Relu", {"x"}, {"y"})
      .output("y");
  const auto function =
      import(model, {.shapes = {{"x", {symbol("N"), 3}}}, .fixed = {}});
  EXPECT_EQ(to_string(function->function().type(0)), "f32[N, 3]");
}

// Quantize, a product of integers, and dequantize are what QDQ means.
TEST_F(OnnxImport, ProductsOfQuantizedNumbersAreOfIntegers) {
  OnnxModel model;
  const Tensor w = Tensor::of<std::int8_t>({1, 1, 2, 2}, {1, -2, 3, 4});
  model.input("x", {DType::kF32, {1, 1, 3, 3}})
      .tensor("sx", Tensor::scalar(0.5f))
      .tensor("zx", Tensor::scalar(std::uint8_t{10}))
      .tensor("w", w)
      .tensor("sw", Tensor::scalar(0.25f))
      .tensor("zw", Tensor::scalar(std::int8_t{0}))
      .node("QuantizeLinear", {"x", "sx", "zx"}, {"q"})
      .node("DequantizeLinear", {"q", "sx", "zx"}, {"dx"})
      .node("DequantizeLinear", {"w", "sw", "zw"}, {"dw"})
      .node("Conv", {"dx", "dw"}, {"y"}, {{"pads", Integers{1, 1, 1, 1}}})
      .output("y");
  const auto function = import(model);
  const auto ops = ops_of(function->function());
  EXPECT_EQ(std::ranges::count(ops, "integer_conv2d"), 1);
  EXPECT_EQ(std::ranges::count(ops, "conv2d"), 0);
  Tensor x = Tensor::empty({DType::kF32, {1, 1, 3, 3}});
  for (int i = 0; i < 9; ++i) x.data<float>()[i] = 0.5f * static_cast<float>(i);
  const Tensor y = call(*function, {x})[0];
  ASSERT_EQ(y.shape(), (Shape{1, 1, 4, 4}));
  // In the corner the window sees the first pixel, 0, alone; in the middle
  // 0.25 (0 - 2 0.5 + 3 1.5 + 4 2).
  EXPECT_EQ(y.item(0), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(y.item(5)), 0.25f * 11.5f);
}

TEST_F(OnnxImport, IntegerProductsTakeZeroPoints) {
  OnnxModel model;
  model.input("a", {DType::kU8, {2, 3}})
      .input("b", {DType::kU8, {3, 2}})
      .tensor("za", Tensor::scalar(std::uint8_t{12}))
      .tensor("zb", Tensor::scalar(std::uint8_t{200}))
      .node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"})
      .output("y");
  const auto function = import(model);
  const std::uint8_t a[] = {11, 0, 255, 7, 12, 200};
  const std::uint8_t b[] = {1, 255, 200, 13, 0, 128};
  const Tensor y =
      call(*function, {Tensor::of<std::uint8_t>({2, 3}, std::span(a)),
                       Tensor::of<std::uint8_t>({3, 2}, std::span(b))})[0];
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) {
      int expected = 0;
      for (int k = 0; k < 3; ++k) {
        expected += (a[row * 3 + k] - 12) * (b[k * 2 + column] - 200);
      }
      EXPECT_EQ(y.item(row * 2 + column), expected);
    }
  }
}

// 0.5 (a - 10) + 0.25 b, in steps of 0.5 from -5 on.
TEST_F(OnnxImport, ReadsOpsOfOnnxruntimesQuantizer) {
  OnnxModel inner;
  inner.input("a", {DType::kU8, {3}})
      .input("b", {DType::kU8, {3}})
      .node("Constant", {}, {"half"}, {{"value", Tensor::scalar(0.5f)}})
      .node("Constant", {}, {"quarter"}, {{"value", Tensor::scalar(0.25f)}})
      .node("Constant", {}, {"ten"},
            {{"value", Tensor::scalar(std::uint8_t{10})}})
      .output("y");
  WireWriter node;
  for (const char* name :
       {"a", "half", "ten", "b", "quarter", "", "half", "ten"}) {
    node.bytes(1, name);
  }
  node.bytes(2, "y");
  node.bytes(4, "QLinearAdd");
  node.bytes(7, "com.microsoft");
  WireWriter graph = inner.body();
  graph.message(1, node);
  save_graph(path_, graph);
  const auto bytes = [](std::initializer_list<std::uint8_t> values) {
    return Tensor::of<std::uint8_t>({3}, values);
  };
  const Tensor y =
      call(*import_onnx(path_), {bytes({10, 20, 0}), bytes({8, 255, 0})})[0];
  EXPECT_EQ(test::numbers(y), (std::vector<double>{14, 148, 0}));
}

// --- Graphs within -----------------------------------------------------------

TEST_F(OnnxImport, AKnownConditionChoosesNow) {
  OnnxModel then;
  then.node("Relu", {"x"}, {"t"}).output("t");
  OnnxModel otherwise;
  otherwise.node("Neg", {"x"}, {"e"}).output("e");
  OnnxModel model;
  model.input("x", kRow)
      .input("c", {DType::kBool, {}})
      .tensor("yes", Tensor::scalar(true))
      .node("If", {"yes"}, {"a"}, {},
            {{"then_branch", then.body()}, {"else_branch", otherwise.body()}})
      .node("If", {"c"}, {"b"}, {},
            {{"then_branch", then.body()}, {"else_branch", otherwise.body()}})
      .output("a")
      .output("b");
  const auto function = import(model);
  EXPECT_EQ(ops_of(function->function()),
            (std::vector<std::string>{"relu", "cond"}));
  const Tensor x = pattern({2, 3});
  const auto results = call(*function, {x, Tensor::scalar(false)});
  EXPECT_TRUE(identical(results[0], relu(Value(x)).tensor()));
  EXPECT_TRUE(identical(results[1], negate(Value(x)).tensor()));
}

// i + 1 is added to the sum in step i, until the sum exceeds 10.
TEST_F(OnnxImport, LoopsRunAsLongAsTheirConditionHolds) {
  OnnxModel body;
  body.input("i", {DType::kI64, {}})
      .input("goes_on", {DType::kBool, {}})
      .input("sum", {DType::kI64, {}})
      .node("Add", {"i", "one"}, {"step"})
      .node("Add", {"sum", "step"}, {"next"})
      .node("Less", {"next", "ten"}, {"more"})
      .output("more")
      .output("next");
  OnnxModel model;
  model.input("start", {DType::kI64, {}})
      .tensor("one", Tensor::scalar(std::int64_t{1}))
      .tensor("ten", Tensor::scalar(std::int64_t{10}))
      .node("Loop", {"", "", "start"}, {"y"}, {}, {{"body", body.body()}})
      .output("y");
  const auto function = import(model);
  EXPECT_EQ(call(*function, {Tensor::scalar(std::int64_t{0})})[0].item(), 10);
  EXPECT_EQ(call(*function, {Tensor::scalar(std::int64_t{9})})[0].item(), 10);
}

TEST_F(OnnxImport, LoopsCollectResultsOfAKnownNumberOfSteps) {
  OnnxModel body;
  body.input("i", {DType::kI64, {}})
      .input("goes_on", {DType::kBool, {}})
      .input("x", {DType::kF32, {2}})
      .node("Mul", {"x", "x"}, {"next"})
      .node("Identity", {"next"}, {"seen"})
      .output("goes_on")
      .output("next")
      .output("seen");
  OnnxModel model;
  model.input("x0", {DType::kF32, {2}})
      .tensor("three", Tensor::scalar(std::int64_t{3}))
      .node("Loop", {"three", "", "x0"}, {"last", "all"}, {},
            {{"body", body.body()}})
      .output("last")
      .output("all");
  const auto function = import(model);
  const auto results = call(*function, {Tensor::of<float>({2}, {2, 1})});
  EXPECT_EQ(test::numbers(results[0]), (std::vector<double>{256, 1}));
  EXPECT_EQ(test::numbers(results[1]),
            (std::vector<double>{4, 1, 16, 1, 256, 1}));
}

// --- Recurrent layers --------------------------------------------------------

OnnxModel recurrent(const std::string& op, Dim gates, const Attributes& more,
                    const std::string& lengths) {
  constexpr Dim kInputs = 3, kHidden = 4;
  OnnxModel model;
  Attributes attributes = more;
  attributes.set("hidden_size", std::int64_t{kHidden});
  attributes.set("direction", std::string("bidirectional"));
  const bool is_lstm = op == "LSTM";
  model.input("x", {DType::kF32, {5, 2, kInputs}})
      .tensor("w", pattern({2, gates * kHidden, kInputs}, -1, 1, 1))
      .tensor("r", pattern({2, gates * kHidden, kHidden}, -1, 1, 2))
      .tensor("b", pattern({2, 2 * gates * kHidden}, -1, 1, 3))
      .tensor("h", pattern({2, 2, kHidden}, -1, 1, 4))
      .tensor("full", Tensor::of<std::int32_t>({2}, {5, 5}));
  std::vector<std::string> operands = {"x", "w", "r", "b", lengths, "h"};
  if (is_lstm) operands.push_back("h");
  model.node(op, operands, {"y", "last"}, attributes)
      .output("y")
      .output("last");
  return model;
}

// A limit that nothing reaches makes the layer a scan over its steps, which is
// another way to the same numbers.
TEST_F(OnnxImport, RecurrentLayersAgreeWithTheirSteps) {
  const Attributes linear = {{"linear_before_reset", std::int64_t{1}}};
  const std::tuple<std::string, Dim, Attributes, std::string> layers[] = {
      {"LSTM", 4, {}, "lstm"}, {"GRU", 3, linear, "gru"}};
  for (const auto& [op, gates, attributes, own] : layers) {
    OnnxModel usual = recurrent(op, gates, attributes, "full");
    const auto layer = import(usual);
    EXPECT_EQ(std::ranges::count(ops_of(layer->function()), own), 2) << op;
    Attributes clipped = attributes;
    clipped.set("clip", 1000.0);
    OnnxModel unusual = recurrent(op, gates, clipped, "");
    const auto steps = import(unusual);
    EXPECT_EQ(std::ranges::count(ops_of(steps->function()), "scan"), 2) << op;
    const Tensor x = pattern({5, 2, 3}, -1, 1, 5);
    const auto a = call(*layer, {x});
    const auto b = call(*steps, {x});
    EXPECT_TRUE(near(a[0], b[0], 1e-6)) << op;
    EXPECT_TRUE(near(a[1], b[1], 1e-6)) << op;
  }
}

// --- Damaged and hostile models ----------------------------------------------

TEST_F(OnnxImport, RefusesTensorsThatLieAboutTheirSizes) {
  WireWriter tensor;
  tensor.packed(1, {1000000, 1000000});
  tensor.integer(2, 1);
  tensor.bytes(8, "w");
  tensor.bytes(9, "abcd");
  OnnxModel inner;
  inner.input("x", kRow).node("Add", {"x", "w"}, {"y"}).output("y");
  WireWriter graph = inner.body();
  graph.message(5, tensor);
  save_graph(path_, graph);
  expect_error(ErrorCode::kDataLoss, {"model.onnx", "tensor 'w'"},
               [&] { import_onnx(path_); });
}

void write_external(const std::filesystem::path& path,
                    const std::string& location, const std::string& offset) {
  WireWriter tensor;
  tensor.packed(1, {3});
  tensor.integer(2, 1);
  tensor.bytes(8, "w");
  const std::pair<std::string, std::string> entries[] = {
      {"location", location}, {"offset", offset}, {"length", "12"}};
  for (const auto& [key, value] : entries) {
    WireWriter entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    tensor.message(13, entry);
  }
  tensor.integer(14, 1);
  OnnxModel inner;
  inner.input("x", kRow).node("Add", {"x", "w"}, {"y"}).output("y");
  WireWriter graph = inner.body();
  graph.message(5, tensor);
  save_graph(path, graph);
}

TEST_F(OnnxImport, ReadsDataOfItsFolderAlone) {
  const float numbers[] = {9, 1, 2, 3};
  write_file(folder_ / "data.bin",
             {reinterpret_cast<const char*>(numbers), sizeof numbers});
  write_external(path_, "data.bin", "4");
  const auto function = import_onnx(path_);
  const Tensor y = call(*function, {Tensor::zeros(kRow)})[0];
  EXPECT_EQ(test::numbers(y), (std::vector<double>{1, 2, 3, 1, 2, 3}));
  for (const std::string location :
       {"../data.bin", "/etc/passwd", "", "sub/../../data.bin"}) {
    write_external(path_, location, "0");
    expect_error(ErrorCode::kDataLoss, {"outside of the model's folder"},
                 [&] { import_onnx(path_); });
  }
  std::filesystem::create_symlink("/etc/passwd", folder_ / "link");
  write_external(path_, "link", "0");
  expect_error(ErrorCode::kDataLoss, {"leads out of the model's folder"},
               [&] { import_onnx(path_); });
  for (const std::string offset : {"8", "18446744073709551615", "-1", "x"}) {
    write_external(path_, "data.bin", offset);
    expect_error(ErrorCode::kDataLoss, {"tensor 'w'"},
                 [&] { import_onnx(path_); });
  }
  write_external(path_, "none.bin", "0");
  expect_error(ErrorCode::kUnavailable, {"none.bin"},
               [&] { import_onnx(path_); });
}

// A gigabyte of padding around one number is made when the function runs.
TEST_F(OnnxImport, FoldsNothingThatIsLarge) {
  OnnxModel model;
  model.tensor("one", Tensor::of<float>({1}, {1}))
      .list("pads", {0, 1 << 28})
      .node("Pad", {"one", "pads"}, {"y"})
      .output("y");
  const auto function = import(model);
  EXPECT_EQ(ops_of(function->function()).back(), "pad");
}

TEST_F(OnnxImport, RefusesGraphsThatMakeNoSense) {
  OnnxModel undefined;
  undefined.input("x", kRow).node("Add", {"x", "later"}, {"y"}).output("y");
  expect_error(ErrorCode::kDataLoss, {"'later'", "nothing before it makes"},
               [&] { import(undefined); });
  // A function of nothing, and an image of a negative size.
  OnnxModel bare;
  bare.node("Atan", {}, {"y"}).output("y");
  expect_error(ErrorCode::kUnsupported, {"Atan", "operand 0 is missing"},
               [&] { import(bare); });
  OnnxModel negative;
  negative.input("x", kRow)
      .list("size", {1, 1, -4, 4})
      .node("AffineGrid", {"x", "size"}, {"y"})
      .output("y");
  expect_error(ErrorCode::kUnsupported, {"AffineGrid"},
               [&] { import(negative); });
  OnnxModel nothing;
  nothing.input("x", kRow).output("z");
  expect_error(ErrorCode::kDataLoss, {"no node makes its output 'z'"},
               [&] { import(nothing); });
  write_file(path_, "no model at all");
  expect_error(ErrorCode::kDataLoss, {"model.onnx"},
               [&] { import_onnx(path_); });
  expect_error(ErrorCode::kUnavailable, {"none.onnx"},
               [&] { import_onnx(folder_ / "none.onnx"); });
}

// docs/onnx.md lists what is read.
TEST(OnnxPage, NamesEveryOp) {
  const std::string page =
      read_text(std::filesystem::path(WEFT_SOURCE_DIR) / "docs/onnx.md");
  for (const onnx::OnnxOpDef& def : onnx_registry().all()) {
    EXPECT_NE(page.find("`" + def.name + "`"), std::string::npos) << def.name;
  }
}

// Before opset 13, softmax was over all axes from one on.
TEST_F(OnnxImport, OldOpsetsMeanWhatTheyDid) {
  const Tensor x = pattern({2, 3, 4});
  const auto sums = [&](std::int64_t opset) {
    OnnxModel model(opset);
    model.input("x", x.type())
        .node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{1}}})
        .output("y");
    return sum(Value(call(*import(model), {x})[0]), {1, 2}).tensor();
  };
  EXPECT_NEAR(sums(12).item(), 1, 1e-6);
  EXPECT_NEAR(sums(13).item(), 4, 1e-6);
}

}  // namespace
}  // namespace weft::onnx_import_test
