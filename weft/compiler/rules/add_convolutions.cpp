// conv(x, W) + conv(x, V) = conv(x, W + V): a convolution is linear in its
// weights.
#include "weft/compiler/convolution_kernel.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"

namespace weft {
namespace {

bool is_linear_convolution(const MatchedNode& convolution) {
  return convolution.attributes().text("activation") == "none";
}

bool are_convolutions_alike(const MatchView& match) {
  const MatchedNode a = match.node(1);
  const MatchedNode b = match.node(2);
  return a.node.outputs[0] < b.node.outputs[0] &&
         a.operand(1) == b.operand(1) && a.attributes() == b.attributes() &&
         have_like_biases(a, b);
}

std::vector<Value> with_added_weights(const MatchView& match) {
  const MatchedNode a = match.node(1);
  std::vector<Value> operands = match.operands_from(1, 0);
  const std::vector<Value> others = match.operands_from(2, 0);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    operands[i] = operands[i] + others[i];
  }
  return call_all(*a.node.op, operands, a.attributes(), a.node.location);
}

}  // namespace

void register_rule_add_convolutions(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "add_convolutions",
      .summary = "adds the weights of two convolutions of one image whose "
                 "results are added",
      .pattern = {{.ops = {&ops.get("add")},
                   .operands = {Operand::of(1), Operand::of(2)},
                   .role = PatternRole::kResult},
                  {.ops = {&ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = is_linear_convolution},
                  {.ops = {&ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(2)},
                   .may_have_more = true,
                   .holds = is_linear_convolution}},
      .holds = are_convolutions_alike,
      .make = with_added_weights,
      .samples =
          {{R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 3, 4], %3: f32[4], %4: f32[4]) -> (f32[2, 5, 5, 4]) {
    %5 = conv2d(%0, %1, %3) : f32[2, 5, 5, 4]
    %6 = conv2d(%0, %2, %4) : f32[2, 5, 5, 4]
    %7 = add(%5, %6) : f32[2, 5, 5, 4]
    return %7
  })",
            R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 3, 4], %3: f32[4], %4: f32[4]) -> (f32[2, 5, 5, 4]) {
    %5 = add(%1, %2) : f32[1, 1, 3, 4]
    %6 = add(%3, %4) : f32[4]
    %7 = conv2d(%0, %5, %6) : f32[2, 5, 5, 4]
    return %7
  })"},
           // Groups and dilation are those of both.
           {R"(func @f(%0: f32[1, 5, 5, 4], %1: f32[3, 3, 2, 4], %2: f32[3, 3, 2, 4]) -> (f32[1, 1, 1, 4]) {
    %3 = conv2d(%0, %1) {groups = 2, dilation = [2, 2]} : f32[1, 1, 1, 4]
    %4 = conv2d(%0, %2) {groups = 2, dilation = [2, 2]} : f32[1, 1, 1, 4]
    %5 = add(%4, %3) : f32[1, 1, 1, 4]
    return %5
  })",
            R"(func @f(%0: f32[1, 5, 5, 4], %1: f32[3, 3, 2, 4], %2: f32[3, 3, 2, 4]) -> (f32[1, 1, 1, 4]) {
    %3 = add(%1, %2) : f32[3, 3, 2, 4]
    %4 = conv2d(%0, %3) {dilation = [2, 2], groups = 2} : f32[1, 1, 1, 4]
    return %4
  })"},
           // A kernel of another size: enlarge_kernel must come first.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[3, 3, 3, 4]) -> (f32[2, 5, 5, 4]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = conv2d(%0, %2) {padding = [1, 1, 1, 1]} : f32[2, 5, 5, 4]
    %5 = add(%3, %4) : f32[2, 5, 5, 4]
    return %5
  })"},
           // The biases have dtypes of their own.
           {R"(func @f(%0: bf16[2, 5, 5, 3], %1: bf16[1, 1, 3, 4], %2: bf16[1, 1, 3, 4], %3: bf16[4], %4: f32[4]) -> (bf16[2, 5, 5, 4]) {
    %5 = conv2d(%0, %1, %3) : bf16[2, 5, 5, 4]
    %6 = conv2d(%0, %2, %4) : bf16[2, 5, 5, 4]
    %7 = add(%5, %6) : bf16[2, 5, 5, 4]
    return %7
  })"},
           // Somebody else reads one of them.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 3, 4]) -> (f32[2, 5, 5, 4], f32[2, 5, 5, 4]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = conv2d(%0, %2) : f32[2, 5, 5, 4]
    %5 = add(%3, %4) : f32[2, 5, 5, 4]
    return %3, %5
  })"}},
  });
}

}  // namespace weft
