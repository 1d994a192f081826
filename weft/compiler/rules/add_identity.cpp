// conv(x, W) + x = conv(x, W + I), where I passes each channel on by the middle
// of the window: a residual connection without a convolution of its own.
#include "weft/compiler/convolution_kernel.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

bool keeps_image(const MatchedNode& convolution) {
  const auto window = window_of(convolution);
  return window && window->middle() == Integers{0, 0, 0, 0} &&
         convolution.attributes().text("activation") == "none" &&
         convolution.attributes().integers("strides") == Integers{1, 1} &&
         convolution.operand(0) == convolution.result() &&
         convolution.operand(1).dtype == convolution.operand(0).dtype;
}

Tensor identity_kernel(const TensorType& weights) {
  const Tensor kernel = Tensor::zeros({DType::kF32, weights.shape});
  const Shape& shape = weights.shape;
  const Dim middle = (shape[0] / 2 * shape[1] + shape[1] / 2) * shape[2];
  for (Dim channel = 0; channel < shape[2]; ++channel) {
    kernel.data<float>()[(middle + channel) * shape[3] + channel] = 1;
  }
  return kernel;
}

std::vector<Value> with_identity(const MatchView& match) {
  const MatchedNode convolution = match.node(0);
  std::vector<Value> operands = match.operands_from(0, 0);
  const TensorType& type = operands[1].type();
  operands[1] =
      operands[1] + to_dtype(Value(identity_kernel(type)), type.dtype);
  return call_all(*convolution.node.op, operands, convolution.attributes(),
                  convolution.node.location);
}

}  // namespace

void register_rule_add_identity(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "add_identity",
      .summary = "lets a convolution add its own image",
      .pattern = {{.ops = {&ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = keeps_image},
                  {.ops = {&ops.get("add")},
                   .operands = {Operand::of(0), Operand::outside(0)},
                   .role = PatternRole::kResult}},
      .make = with_identity,
      .samples =
          {{R"(func @f(%0: f32[2, 4, 4, 2], %1: f32[1, 1, 2, 2]) -> (f32[2, 4, 4, 2]) {
    %2 = conv2d(%0, %1) : f32[2, 4, 4, 2]
    %3 = add(%0, %2) : f32[2, 4, 4, 2]
    return %3
  })",
            R"(func @f(%0: f32[2, 4, 4, 2], %1: f32[1, 1, 2, 2]) -> (f32[2, 4, 4, 2]) {
    %2 = constant() {value = f32[1, 1, 2, 2](1.0, 0.0, 0.0, 1.0)} : f32[1, 1, 2, 2]
    %3 = add(%1, %2) : f32[1, 1, 2, 2]
    %4 = conv2d(%0, %3) : f32[2, 4, 4, 2]
    return %4
  })"},
           // It is another image that is added.
           {R"(func @f(%0: f32[2, 4, 4, 2], %1: f32[1, 1, 2, 2], %2: f32[2, 4, 4, 2]) -> (f32[2, 4, 4, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 4, 4, 2]
    %4 = add(%3, %2) : f32[2, 4, 4, 2]
    return %4
  })"}},
  });
}

}  // namespace weft
