// Two convolutions of one image are one with the channels of both.
#include <array>

#include "weft/compiler/convolution_kernel.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

std::optional<KernelWindow> common_window(const MatchView& match) {
  const auto a = window_of(match.node(0));
  const auto b = window_of(match.node(1));
  return a && b ? joined(*a, *b) : std::nullopt;
}

bool are_mergeable_convolutions(const MatchView& match) {
  const MatchedNode a = match.node(0);
  const MatchedNode b = match.node(1);
  // The one that stands first in the function is the first of the pair.
  return a.node.outputs[0] < b.node.outputs[0] && have_like_biases(a, b) &&
         a.operand(1).dtype == b.operand(1).dtype &&
         a.attributes().text("activation") ==
             b.attributes().text("activation") &&
         a.attributes().integers("strides") ==
             b.attributes().integers("strides") &&
         common_window(match).has_value();
}

std::vector<Value> merged_convolutions(const MatchView& match) {
  const KernelWindow window = *common_window(match);
  const MatchedNode a = match.node(0);
  std::vector<Value> operands = match.operands_from(0, 0);
  const std::vector<Value> others = match.operands_from(1, 1);
  operands[1] = concat(std::array{widened(operands[1], window.size),
                                  widened(others[0], window.size)},
                       3);
  if (operands.size() > 2) {
    operands[2] = concat(std::array{operands[2], others[1]}, 0);
  }
  const Value y =
      call_all(*a.node.op, operands, with_window(a.attributes(), window),
               a.node.location)[0];
  return split(
      y, {a.result().shape.back(), match.node(1).result().shape.back()}, 3);
}

}  // namespace

void register_rule_merge_convolutions(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpDef* conv2d = &op_registry().get("conv2d");
  rules.add({
      .name = "merge_convolutions",
      .summary = "makes two convolutions of one image one, with the channels "
                 "of both",
      .pattern = {{.ops = {conv2d},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true},
                  {.ops = {conv2d},
                   .operands = {Operand::outside(0), Operand::outside(2)},
                   .role = PatternRole::kResult,
                   .may_have_more = true}},
      .holds = are_mergeable_convolutions,
      .make = merged_convolutions,
      .samples =
          {{R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[3, 3, 3, 2]) -> (f32[2, 5, 5, 4], f32[2, 5, 5, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = conv2d(%0, %2) {padding = [1, 1, 1, 1]} : f32[2, 5, 5, 2]
    return %3, %4
  })",
            R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[3, 3, 3, 2]) -> (f32[2, 5, 5, 4], f32[2, 5, 5, 2]) {
    %3 = pad(%1) {low = [1, 1, 0, 0], high = [1, 1, 0, 0]} : f32[3, 3, 3, 4]
    %4 = concat(%3, %2) {axis = 3} : f32[3, 3, 3, 6]
    %5 = conv2d(%0, %4) {padding = [1, 1, 1, 1]} : f32[2, 5, 5, 6]
    %6, %7 = split(%5) {sizes = [4, 2], axis = 3} : f32[2, 5, 5, 4], f32[2, 5, 5, 2]
    return %6, %7
  })"},
           // Their results have other sizes.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[3, 3, 3, 2]) -> (f32[2, 5, 5, 4], f32[2, 3, 3, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = conv2d(%0, %2) : f32[2, 3, 3, 2]
    return %3, %4
  })"},
           // One has a relu.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 3, 2]) -> (f32[2, 5, 5, 4], f32[2, 5, 5, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = conv2d(%0, %2) {activation = "relu"} : f32[2, 5, 5, 2]
    return %3, %4
  })"},
           // The biases have dtypes of their own.
           {R"(func @f(%0: bf16[2, 5, 5, 3], %1: bf16[1, 1, 3, 4], %2: bf16[1, 1, 3, 2], %3: f32[4], %4: bf16[2]) -> (bf16[2, 5, 5, 4], bf16[2, 5, 5, 2]) {
    %5 = conv2d(%0, %1, %3) : bf16[2, 5, 5, 4]
    %6 = conv2d(%0, %2, %4) : bf16[2, 5, 5, 2]
    return %5, %6
  })"},
           // The strides differ.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 3, 2]) -> (f32[2, 5, 5, 4], f32[2, 3, 3, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = conv2d(%0, %2) {strides = [2, 2]} : f32[2, 3, 3, 2]
    return %3, %4
  })"},
           // The second one's weights are made of the first one's result.
           {R"(func @f(%0: f32[1, 1, 1, 1], %1: f32[1, 1, 1, 1]) -> (f32[1, 1, 1, 1]) {
    %2 = conv2d(%0, %1) : f32[1, 1, 1, 1]
    %3 = exp(%2) : f32[1, 1, 1, 1]
    %4 = conv2d(%0, %3) : f32[1, 1, 1, 1]
    return %4
  })"}},
  });
}

}  // namespace weft
