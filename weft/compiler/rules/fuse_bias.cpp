// The library adds a bias to a product or a convolution while the result is
// still in registers.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

bool has_no_tail(const MatchedNode& heavy) {
  return heavy.node.inputs.size() == 2 &&
         heavy.attributes().text("activation") == "none";
}

// The other operand of the sum must be one number per channel.
bool is_bias(const MatchView& match) {
  const TensorType& bias = match.type(2);
  const TensorType& y = match.node(1).result();
  return bias.dtype == y.dtype && bias.shape.rank() > 0 &&
         bias.shape.back() == y.shape.back() &&
         bias.shape.rank() <= y.shape.rank() &&
         // All other axes are 1, so it repeats over them.
         bias.shape.num_elements() == bias.shape.back() &&
         match.node(0).result() == y;
}

std::vector<Value> with_bias(const MatchView& match) {
  Value bias = match.outside(2);
  if (bias.shape().rank() != 1) {
    bias = reshape(bias, Shape{bias.shape().back()});
  }
  const MatchedNode heavy = match.node(0);
  const Value x = match.outside(0);
  const Value w = match.outside(1);
  return {call(*heavy.node.op, {&x, &w, &bias}, heavy.attributes(),
               heavy.node.location)};
}

}  // namespace

void register_rule_fuse_bias(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "fuse_bias",
      .summary = "moves a bias into the product or convolution before it",
      .use = RuleUse::kAlways,
      .order = 100,
      // The library may add the bias before it rounds.
      .pattern = {{.ops = {&ops.get("matmul"), &ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .holds = has_no_tail},
                  {.ops = {&ops.get("add")},
                   .operands = {Operand::of(0), Operand::outside(2)},
                   .role = PatternRole::kResult}},
      .holds = is_bias,
      .make = with_bias,
      .samples =
          {{R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[1, 3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%2, %3) : f32[8, 3]
    return %4
  })",
            R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[1, 3]) -> (f32[8, 3]) {
    %3 = reshape(%2) {shape = shape[3]} : f32[3]
    %4 = matmul(%0, %1, %3) : f32[8, 3]
    return %4
  })"},
           // Somebody else reads the product.
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3], f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    return %3, %4
  })"},
           // This sum is no bias.
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[8, 3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    return %4
  })"},
           // Neither product is the other's bias before it is there.
           {R"(func @f(%0: f32[1, 4], %1: f32[4, 3]) -> (f32[1, 3]) {
    %2 = matmul(%0, %1) : f32[1, 3]
    %3 = add(%2, %2) : f32[1, 3]
    return %3
  })"}},
  });
}

}  // namespace weft
