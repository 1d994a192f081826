// Attention whose scores and weights go through graphs of the model's own, and
// a convolution that sees the past alone.
#include <cmath>

#include "weft/onnx/convolution.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/loss.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

Value by_graph(OnnxNode& node, const char* attribute, const Value& x) {
  if (!node.has_attribute(attribute)) return x;
  const auto results = node.run(node.graph(attribute), {x});
  if (results.size() != 1) throw node.damaged("'{}' returns more", attribute);
  return results[0].plain();
}

void import_flex_attention(OnnxNode& node) {
  const Value q = node.input(0);
  Value k = node.input(1);
  Value v = node.input(2);
  const Shape& s = q.shape();
  if (s.rank() != 4 || k.shape().rank() != 4 || v.shape().rank() != 4 ||
      is_symbolic(s[3])) {
    throw node.unsupported("operands {}", to_string(s));
  }
  const auto times = dim_divide_exactly(s[1], k.shape()[1]);
  if (!times) throw node.damaged("heads do not divide");
  for (Value* each : {&k, &v}) {
    const Shape& of = each->shape();
    if (*times == 1) continue;
    *each =
        reshape(broadcast_to(reshape(*each, {of[0], of[1], 1, of[2], of[3]}),
                             {of[0], of[1], *times, of[2], of[3]}),
                {of[0], s[1], of[2], of[3]});
  }
  const double scale =
      node.real("scale", 1 / std::sqrt(static_cast<double>(s[3])));
  const double half = std::sqrt(scale);
  // Halves are added up in f32.
  const bool is_half = q.dtype() == DType::kF16 || q.dtype() == DType::kBF16;
  const DType inner =
      node.dtype("softmax_precision", is_half ? DType::kF32 : q.dtype());
  const Value scores =
      to_dtype(matmul(q * half, k * half, {.transpose_b = true}), inner);
  const Value weights =
      by_graph(node, "prob_mod", softmax(by_graph(node, "score_mod", scores)));
  node.set(to_dtype(matmul(weights, to_dtype(v, inner)), v.dtype()));
}

// [batch, channels, length], each channel by itself; what comes before the
// first place is the state of the call before.
void import_causal_conv(OnnxNode& node) {
  const Value x = node.input(0);
  const Shape weights = node.operand(1).type().shape;
  const Shape& s = x.shape();
  if (s.rank() != 3 || weights.rank() != 3 || is_symbolic(weights[2]) ||
      weights[2] < 1 || is_symbolic(s[1]) || weights[0] != s[1]) {
    throw node.damaged("{} with weights {}", to_string(s), to_string(weights));
  }
  const std::int64_t before = weights[2] - 1;
  const std::vector<Value> both = {
      node.has(3) ? node.input(3) : full({x.dtype(), {s[0], s[1], before}}, 0),
      x};
  const Value padded = concat(both, 2);
  Value y = convolution(OnnxValue(padded).last(), kernel_last(node.operand(1)),
                        {Taps{.kernel = weights[2]}}, s[1], conv2d);
  if (node.has(2)) y = y + node.input(2);
  const std::string activation = node.text("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = y * sigmoid(y);
  } else if (activation != "none") {
    throw node.damaged("there is no activation '{}'", activation);
  }
  node.set(0, OnnxValue::channels_last(y));
  if (!node.wants(1)) return;
  Integers begin = {0, 0, before == 0 ? kToEnd : -before};
  node.set(1, before == 0 ? full({x.dtype(), {s[0], s[1], 0}}, 0)
                          : slice(padded, begin, {kToEnd, kToEnd, kToEnd}));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_flex_attentions(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "FlexAttention",
           .domain = "ai.onnx.preview",
           .since = 1,
           .import = import_flex_attention});
  ops.add({.name = "CausalConvWithState", .import = import_causal_conv});
}

}  // namespace weft
