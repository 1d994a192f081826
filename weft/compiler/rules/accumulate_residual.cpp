// conv(x, W) + z in one op, which adds up where z lies: the residual merge of
// Jia et al., "Optimizing DNN computation with relaxed graph substitutions",
// 2019. Where a relu follows, the loop that adds and cuts moves as many bytes;
// so it is measured.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool is_added_as_it_is(const MatchedNode& convolution) {
  return convolution.attributes().text("activation") == "none" &&
         convolution.result().dtype == DType::kF32;
}

bool adds_one_shape(const MatchedNode& add) {
  return add.operand(0) == add.operand(1);
}

std::vector<Value> accumulated(const MatchView& match) {
  static const OpDef& op = op_registry().get("conv2d_onto");
  std::vector<Value> operands = {match.outside(2)};
  for (Value& each : match.operands_from(0, 0)) operands.push_back(each);
  return call_all(op, operands, match.attributes(0),
                  match.node(1).node.location);
}

}  // namespace

void register_rule_accumulate_residual(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "accumulate_residual",
      .summary = "lets a convolution add up where another image lies",
      .is_last = true,
      .pattern = {{.ops = {&ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = is_added_as_it_is},
                  {.ops = {&ops.get("add")},
                   .operands = {Operand::of(0), Operand::outside(2)},
                   .role = PatternRole::kResult,
                   .holds = adds_one_shape}},
      .make = accumulated,
      .samples =
          {{R"(func @f(%0: f32[2, 4, 4, 3], %1: f32[1, 1, 3, 2], %2: f32[2, 4, 4, 2], %3: f32[2]) -> (f32[2, 4, 4, 2]) {
    %4 = conv2d(%0, %1, %3) : f32[2, 4, 4, 2]
    %5 = add(%2, %4) : f32[2, 4, 4, 2]
    return %5
  })",
            R"(func @f(%0: f32[2, 4, 4, 3], %1: f32[1, 1, 3, 2], %2: f32[2, 4, 4, 2], %3: f32[2]) -> (f32[2, 4, 4, 2]) {
    %4 = conv2d_onto(%2, %0, %1, %3) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1, activation = "none"} : f32[2, 4, 4, 2]
    return %4
  })"},
           // The convolution is needed anyway.
           {R"(func @f(%0: f32[2, 4, 4, 3], %1: f32[1, 1, 3, 2], %2: f32[2, 4, 4, 2]) -> (f32[2, 4, 4, 2], f32[2, 4, 4, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 4, 4, 2]
    %4 = add(%3, %2) : f32[2, 4, 4, 2]
    return %3, %4
  })"},
           // What is added is the same for all pixels.
           {R"(func @f(%0: f32[2, 4, 4, 3], %1: f32[1, 1, 3, 2], %2: f32[2]) -> (f32[2, 4, 4, 2]) {
    %3 = conv2d(%0, %1) : f32[2, 4, 4, 2]
    %4 = add(%3, %2) : f32[2, 4, 4, 2]
    return %4
  })"}},
  });
}

}  // namespace weft
