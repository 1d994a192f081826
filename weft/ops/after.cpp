#include "weft/ops/after.h"

#include <cstring>

#include "weft/graph/batch.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"

namespace weft {
namespace {

void after_reference(const OpCall&, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const std::size_t bytes = inputs[0].type.bytes();
  // A plan may give a view the memory of its source.
  if (bytes > 0 && outputs[0].data != inputs[0].data) {
    std::memcpy(outputs[0].data, inputs[0].data, bytes);
  }
}

Gradients after_gradient(const GradientContext& g) {
  Gradients result(g.input_count());
  // The others are waited for, and no number of theirs is in the result.
  result[0] = g.dy();
  return result;
}

std::vector<Value> batch_after(const BatchContext& b) {
  std::vector<Value> others;
  // Whether the others are stacked does not matter to waiting.
  for (std::size_t i = 1; i < b.input_count(); ++i) others.push_back(b.x(i));
  return {after(stacked(b, 0), others)};
}

std::vector<OpSample> after_samples() {
  return {
      {{{{DType::kF32, {3, 2}}}, {{DType::kF32, {5}}, -1, 1, false}}, {}},
      {{{{DType::kI64, {4}}, 0, 9, false}, {{DType::kBool, {}}, 0, 2, false}},
       {}}};
}

}  // namespace

void register_after(OpRegistry& ops) {
  ops.add("after")
      .summary("x, not before the others are there")
      .signature("(x, others...) -> y")
      .traits(kView)
      .infer(infer_like_input)
      .reference(after_reference)
      .gradient(after_gradient)
      .batch(batch_after)
      .onnx(onnx_identity)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(after_samples);
}

Value after(const Value& x, std::span<const Value> others) {
  static const OpDef& op = op_registry().get("after");
  std::vector<Value> operands{x};
  operands.insert(operands.end(), others.begin(), others.end());
  return call_all(op, operands, {}, Location()).front();
}

}  // namespace weft
