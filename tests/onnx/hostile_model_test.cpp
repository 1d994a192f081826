// Models that would read beyond what they have, or take all memory.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/onnx_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/base/file.h"
#include "weft/onnx/onnx.h"

namespace weft::onnx_hostile_model_test {
namespace {

using test::expect_error;
using test::OnnxModel;
using test::TemporaryFolder;

void expect_refused(OnnxModel& model, const std::string& said) {
  const TemporaryFolder folder;
  model.save(folder / "model.onnx");
  expect_error(ErrorCode::kUnsupported, {"model.onnx", said},
               [&] { import_onnx(folder / "model.onnx"); });
}

TEST(OnnxHostileModel, OrdersOfAxesAreChecked) {
  for (const Integers& order :
       {Integers{1000000000, 0}, Integers{0, 0}, Integers{0}}) {
    for (const Dim size : {1, 3}) {
      OnnxModel model;
      model.input("x", {DType::kF32, {size, size}})
          .node("Transpose", {"x"}, {"y"}, {{"perm", order}})
          .output("y");
      expect_refused(model, "Transpose");
    }
  }
}

TEST(OnnxHostileModel, PlacesAreTuples) {
  OnnxModel model;
  model.input("x", {DType::kF32, {3}})
      .tensor("place", Tensor::scalar(std::int64_t{1}))
      .node("ScatterND", {"x", "place", "x"}, {"y"},
            {{"reduction", std::string("mul")}})
      .output("y");
  expect_refused(model, "no tuples");
}

TEST(OnnxHostileModel, ImagesHaveChannels) {
  for (const Shape& shape : {Shape{}, Shape{3}}) {
    OnnxModel pool;
    pool.input("x", {DType::kF32, shape})
        .node("GlobalAveragePool", {"x"}, {"y"})
        .output("y");
    expect_refused(pool, "no channels");
    OnnxModel norm;
    norm.input("x", {DType::kF32, shape})
        .tensor("one", Tensor::of<float>({1}, {1}))
        .node("BatchNormalization", {"x", "one", "one", "one", "one"}, {"y"})
        .output("y");
    expect_refused(norm, "no channels");
  }
}

TEST(OnnxHostileModel, OffsetsOfAConvolutionHaveFourAxes) {
  OnnxModel model;
  model.input("x", {DType::kF32, {1, 1, 3, 3}})
      .tensor("w", test::pattern({1, 1, 2, 2}))
      .tensor("offset", test::pattern({1}))
      .node("DeformConv", {"x", "w", "offset"}, {"y"})
      .output("y");
  expect_refused(model, "offsets");
}

TEST(OnnxHostileModel, AKernelHasAWidth) {
  OnnxModel model;
  model.input("x", {DType::kF32, {1, 2, 3}})
      .tensor("w", Tensor::zeros({DType::kF32, {2, 1, 0}}))
      .node("CausalConvWithState", {"x", "w"}, {"y"})
      .output("y");
  expect_refused(model, "with weights");
}

TEST(OnnxHostileModel, SizesOfResultsAreBounded) {
  OnnxModel transform;
  transform.input("x", {DType::kF32, {1, 4, 1}})
      .tensor("length", Tensor::scalar(std::int64_t{1} << 40))
      .node("DFT", {"x", "length"}, {"y"})
      .output("y");
  expect_refused(transform, "a transform of");
  OnnxModel edge;
  edge.input("x", {DType::kF32, {4}})
      .list("pads", {0, std::int64_t{1} << 31})
      .node("Pad", {"x", "pads"}, {"y"}, {{"mode", std::string("edge")}})
      .output("y");
  expect_refused(edge, "repeats");
  OnnxModel resize;
  resize.input("x", {DType::kF32, {1, 1, 1 << 18}})
      .tensor("scales", Tensor::of<float>({3}, {1, 1, 4}))
      .node("Resize", {"x", "", "scales"}, {"y"},
            {{"mode", std::string("linear")}})
      .output("y");
  expect_refused(resize, "weighs");
  OnnxModel frames;
  frames.input("x", {DType::kF32, {1, 1 << 22, 1}})
      .tensor("one", Tensor::scalar(std::int64_t{1}))
      .node("STFT", {"x", "one", "", "one"}, {"y"})
      .output("y");
  expect_refused(frames, "4194304 frames");
  OnnxModel filters;
  filters.tensor("many", Tensor::scalar(std::int64_t{1} << 16))
      .tensor("low", Tensor::scalar(1.0f))
      .node("MelWeightMatrix", {"many", "many", "many", "low", "low"}, {"y"})
      .output("y");
  expect_refused(filters, "65536 bands");
}

WireWriter opset(const std::string& domain, std::int64_t version) {
  WireWriter message;
  message.bytes(1, domain);
  message.integer(2, version);
  return message;
}

// y = last(…(first(x))).
std::vector<WireWriter> chain(const std::vector<std::string>& ops) {
  std::vector<WireWriter> nodes;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    WireWriter& node = nodes.emplace_back();
    node.bytes(1, i == 0 ? "x" : fmt::format("v{}", i));
    node.bytes(2, i + 1 == ops.size() ? "y" : fmt::format("v{}", i + 1));
    node.bytes(4, ops[i]);
    if (ops[i] != "Relu") node.bytes(7, "own");
  }
  return nodes;
}

WireWriter function(const std::string& name,
                    const std::vector<std::string>& calls) {
  WireWriter message;
  message.bytes(1, name);
  message.bytes(4, "x");
  message.bytes(5, "y");
  for (const WireWriter& node : chain(calls)) message.message(7, node);
  message.message(9, opset("", 21));
  message.bytes(10, "own");
  return message;
}

// Calls of `first` one after the other, beside functions f0, f1, … that each
// call the next so many times; the last calls `end`.
void save_calls(const std::filesystem::path& path, int functions,
                std::size_t times, const std::string& end,
                const std::vector<std::string>& first = {"f0"}) {
  OnnxModel inner;
  inner.input("x", {DType::kF32, {2}}).output("y");
  WireWriter graph = inner.body();
  for (const WireWriter& node : chain(first)) graph.message(1, node);
  WireWriter model;
  model.integer(1, 10);
  model.message(7, graph);
  model.message(8, opset("", 21));
  model.message(8, opset("own", 1));
  for (int i = 0; i < functions; ++i) {
    const bool is_last = i + 1 == functions;
    const std::string called = is_last ? end : fmt::format("f{}", i + 1);
    model.message(25, function(fmt::format("f{}", i),
                               std::vector<std::string>(times, called)));
  }
  write_file(path, model.written());
}

// Each of forty functions calls the next twice; one calls itself.
// What becomes a slice for each number that is summed has few of them.
TEST(OnnxHostileModel, SlicesOfAWindowAreBounded) {
  for (const char* pool : {"MaxPool", "AveragePool"}) {
    OnnxModel model;
    model.input("x", {DType::kF32, {1, 1, 1 << 20}})
        .node(pool, {"x"}, {"y"},
              {{"kernel_shape", Integers{1 << 18}}, {"dilations", Integers{2}}})
        .output("y");
    expect_refused(model, "windows of 262144 taps, of at most 4096");
  }
  OnnxModel model;
  model.input("x", {DType::kF32, {1, 1 << 20, 1, 1}})
      .node("LRN", {"x"}, {"y"}, {{"size", std::int64_t{1} << 20}})
      .output("y");
  expect_refused(model, "sums 1048576 of 1048576 channels");
}

TEST(OnnxHostileModel, CallsOfFunctionsAreCountedBeforeTheyAreMade) {
  const TemporaryFolder folder;
  const auto path = folder / "model.onnx";
  save_calls(path, 4, 2, "Relu");
  const auto function = import_onnx(path);
  EXPECT_EQ(test::ops_of(function->function()).size(), 16u);
  save_calls(path, 40, 2, "Relu");
  expect_error(ErrorCode::kUnsupported, {"f0", "nodes together"},
               [&] { import_onnx(path); });
  save_calls(path, 2, 2, "f0");
  expect_error(ErrorCode::kUnsupported, {"f0", "nodes together"},
               [&] { import_onnx(path); });
  // What is known of a part does not hide how deep all is.
  save_calls(path, 100, 1, "Relu", {"f50", "f0"});
  expect_error(ErrorCode::kUnsupported, {"64 deep"},
               [&] { import_onnx(path); });
}

}  // namespace
}  // namespace weft::onnx_hostile_model_test
