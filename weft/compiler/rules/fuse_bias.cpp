// The library adds a bias to a product or a convolution while the result is
// still in registers: what each channel has behind one is added to it.
#include "weft/compiler/scaled_weights.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

bool has_no_activation_behind(const MatchedNode& heavy) {
  return heavy.attributes().text("activation") == "none";
}

// The other operand of the sum must be one number per channel.
bool is_bias(const MatchView& match) {
  const TensorType& y = match.node(1).result();
  return is_of_channels(match.type(2), y) && match.node(0).result() == y;
}

std::vector<Value> with_bias(const MatchView& match) {
  const MatchedNode heavy = match.node(0);
  const OpDef& sum = *match.node(1).node.op;
  std::vector<Value> operands = match.operands_from(0, 0);
  Value bias = as_vector(match.outside(2));
  if (operands.size() > 2) {
    bias = to_dtype(bias, operands[2].dtype());
    operands[2] = call(sum, {&operands[2], &bias}, {}, heavy.node.location);
  } else {
    operands.push_back(sum == known::add ? bias : -bias);
  }
  return call_all(*heavy.node.op, operands, heavy.attributes(),
                  heavy.node.location);
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
      .pays_if_frozen = true,
      .pattern = {{.ops = {&ops.get("matmul"), &ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = has_no_activation_behind},
                  {.ops = {&ops.get("add"), &ops.get("subtract")},
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
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = subtract(%3, %2) : f32[8, 3]
    return %4
  })",
            R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = negate(%2) : f32[3]
    %4 = matmul(%0, %1, %3) : f32[8, 3]
    return %4
  })"},
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3], %3: f32[3]) -> (f32[8, 3]) {
    %4 = matmul(%0, %1, %2) : f32[8, 3]
    %5 = subtract(%4, %3) : f32[8, 3]
    return %5
  })",
            R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3], %3: f32[3]) -> (f32[8, 3]) {
    %4 = subtract(%2, %3) : f32[3]
    %5 = matmul(%0, %1, %4) : f32[8, 3]
    return %5
  })"},
           // The product is what is taken away.
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = subtract(%2, %3) : f32[8, 3]
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
