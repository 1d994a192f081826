#include "weft/ops/stop_gradient.h"

#include <cstring>

#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"

namespace weft {
namespace {

void stopped_reference(const OpCall&, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  // The numbers pass as they are; only reverse mode sees this op.
  const std::size_t bytes = inputs[0].type.bytes();
  // A plan may give a view the memory of its source.
  if (bytes > 0 && outputs[0].data != inputs[0].data) {
    std::memcpy(outputs[0].data, inputs[0].data, bytes);
  }
}

std::vector<OpSample> stopped_samples() {
  std::vector<OpSample> samples = with_integer_vectors(unary_samples(-2, 2));
  samples.push_back({{bools({7})}, {}});
  return samples;
}

}  // namespace

void register_stop_gradient(OpRegistry& ops) {
  ops.add("stop_gradient")
      .summary("x, as a constant to whoever differentiates")
      .signature("(x) -> y")
      .traits(kView | kNoGradient)
      .infer(infer_like_input)
      .reference(stopped_reference)
      .batch(batch_elementwise, sum_of_linear)
      .onnx(onnx_identity)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(stopped_samples);
}

Value stop_gradient(const Operand& x) {
  static const OpDef& op = op_registry().get("stop_gradient");
  return call(op, {x.value}, {}, x.location);
}

}  // namespace weft
