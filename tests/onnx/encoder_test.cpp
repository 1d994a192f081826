// The attention of an encoder as exporters write it: one op of a plan, without
// a transposition.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/onnx_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/onnx/onnx.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::onnx_encoder_test {
namespace {

using test::near;
using test::OnnxModel;
using test::pattern;

constexpr Dim kBatch = 2, kLength = 6, kHeads = 2, kWidth = 4;
constexpr Dim kAll = kHeads * kWidth;

// BERT's: three products, keys transposed for theirs, a mask of -∞ and 0.
OnnxModel encoder() {
  OnnxModel model;
  model.input("x", {DType::kF32, {kBatch, kLength, kAll}})
      .input("mask", {DType::kF32, {kBatch, 1, 1, kLength}})
      .list("apart", {kBatch, kLength, kHeads, kWidth})
      .list("together", {kBatch, kLength, kAll})
      .tensor("root", Tensor::of<float>({}, {2.f}));
  for (const std::string each : {"q", "k", "v"}) {
    const Integers order =
        each == "k" ? Integers{0, 2, 3, 1} : Integers{0, 2, 1, 3};
    model.input("w" + each, {DType::kF32, {kAll, kAll}})
        .node("MatMul", {"x", "w" + each}, {"p" + each})
        .node("Reshape", {"p" + each, "apart"}, {"r" + each})
        .node("Transpose", {"r" + each}, {each}, {{"perm", order}});
  }
  model.node("MatMul", {"q", "k"}, {"products"})
      .node("Div", {"products", "root"}, {"scores"})
      .node("Add", {"scores", "mask"}, {"masked"})
      .node("Softmax", {"masked"}, {"weights"}, {{"axis", std::int64_t{-1}}})
      .node("MatMul", {"weights", "v"}, {"heads"})
      .node("Transpose", {"heads"}, {"back"}, {{"perm", Integers{0, 2, 1, 3}}})
      .node("Reshape", {"back", "together"}, {"y"})
      .output("y");
  return model;
}

TEST(OnnxEncoder, AttendsWithoutATransposition) {
  const test::TemporaryFolder folder;
  const auto path = folder / "encoder.onnx";
  encoder().save(path);
  const GraphFunctionRef imported = import_onnx(path);
  const Tensor x = pattern({kBatch, kLength, kAll}, -1, 1, 7);
  Tensor mask = Tensor::zeros({DType::kF32, {kBatch, 1, 1, kLength}});
  mask.data<float>()[2] = -INFINITY;
  mask.data<float>()[kLength + 5] = -INFINITY;
  const auto weights = [](std::uint64_t seed) {
    return pattern({kAll, kAll}, -1, 1, seed);
  };
  const std::vector<Tensor> arguments = {x, mask, weights(1), weights(2),
                                         weights(3)};

  Executable served(imported->function());
  int attentions = 0;
  for (const StepInfo& step : served.plan_for(arguments).steps()) {
    EXPECT_NE(step.name, "softmax");
    EXPECT_TRUE(step.name != "transpose" || step.kernel.empty());
    attentions += step.name == "multi_head_attention";
  }
  EXPECT_EQ(attentions, 1);

  // The same by the engine's own op.
  const auto heads = [&](std::uint64_t seed) {
    const Value all = matmul(Value(x), Value(weights(seed)));
    return transpose(reshape(all, {kBatch, kLength, kHeads, kWidth}),
                     {0, 2, 1, 3});
  };
  const Value looks = equal(Value(mask), scalar(0, DType::kF32));
  const Value y =
      attention(heads(1), heads(2), heads(3), looks, {.scale = 0.5});
  const Value expected =
      reshape(transpose(y, {0, 2, 1, 3}), {kBatch, kLength, kAll});
  EXPECT_TRUE(near(served.run(arguments)[0], expected.tensor(), 1e-5));
}

}  // namespace
}  // namespace weft::onnx_encoder_test
