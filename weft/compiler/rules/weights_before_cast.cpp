// A convolution of bf16 images rounds f32 weights itself: as they are in f32,
// what is folded into them rounds them once.
#include <array>

#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool reads_halves(const MatchedNode& convolution) {
  return convolution.operand(0).dtype == DType::kBF16;
}

bool narrows_floats(const MatchedNode& cast) {
  return cast.operand(0).dtype == DType::kF32;
}

std::vector<Value> with_wide_weights(const MatchView& match) {
  const MatchedNode convolution = match.node(0);
  std::vector<Value> operands = match.operands_from(0, 2);
  const std::array first = {match.outside(0), match.outside(1)};
  operands.insert(operands.begin(), first.begin(), first.end());
  return call_all(*convolution.node.op, operands, convolution.attributes(),
                  convolution.node.location);
}

}  // namespace

void register_rule_weights_before_cast(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "weights_before_cast",
      .summary = "gives a convolution of bf16 images the f32 weights that "
                 "would be cast for it",
      .keeps_bits = true,
      .pays_if_frozen = true,
      // The gradient of the weights would be f32, which the cast's is not.
      .holds_in_training = false,
      .pattern = {{.ops = {&ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::of(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true,
                   .holds = reads_halves},
                  {.ops = {&ops.get("cast")},
                   .operands = {Operand::outside(1)},
                   .role = PatternRole::kSource,
                   .holds = narrows_floats}},
      .make = with_wide_weights,
      .samples =
          {{R"(func @f(%0: bf16[1, 2, 2, 3], %1: f32[1, 1, 3, 4], %2: bf16[4]) -> (bf16[1, 2, 2, 4]) {
    %3 = cast(%1) {dtype = bf16} : bf16[1, 1, 3, 4]
    %4 = conv2d(%0, %3, %2) : bf16[1, 2, 2, 4]
    return %4
  })",
            R"(func @f(%0: bf16[1, 2, 2, 3], %1: f32[1, 1, 3, 4], %2: bf16[4]) -> (bf16[1, 2, 2, 4]) {
    %3 = conv2d(%0, %1, %2) : bf16[1, 2, 2, 4]
    return %3
  })"},
           // Images in f16 have weights of their own dtype.
           {R"(func @f(%0: f16[1, 2, 2, 3], %1: f32[1, 1, 3, 4]) -> (f16[1, 2, 2, 4]) {
    %2 = cast(%1) {dtype = f16} : f16[1, 1, 3, 4]
    %3 = conv2d(%0, %2) : f16[1, 2, 2, 4]
    return %3
  })"}},
  });
}

}  // namespace weft
