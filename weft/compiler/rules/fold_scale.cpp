// A factor of each channel is a part of the weights of the product or
// convolution before it. Imported graphs write batch norm so, as a product and
// a sum.
#include "weft/compiler/scaled_weights.h"
#include "weft/graph/registry.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

bool scales_channels(const MatchView& match) {
  const TensorType& y = match.node(0).result();
  return is_of_channels(match.type(2), y) && match.node(1).result() == y;
}

std::vector<Value> with_scaled_weights(const MatchView& match) {
  const MatchedNode heavy = match.node(0);
  const OpDef& scale = *match.node(1).node.op;
  std::vector<Value> operands = match.operands_from(0, 0);
  const Value factor =
      to_dtype(as_vector(match.outside(2)), operands[1].dtype());
  const Value along = along_weights(heavy, factor);
  operands[1] = call(scale, {&operands[1], &along}, {}, heavy.node.location);
  if (operands.size() > 2) {
    operands[2] = to_dtype(operands[2], factor.dtype());
    operands[2] = call(scale, {&operands[2], &factor}, {}, heavy.node.location);
  }
  return call_all(*heavy.node.op, operands, heavy.attributes(),
                  heavy.node.location);
}

}  // namespace

void register_rule_fold_scale(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "fold_scale",
      .summary = "folds a factor of each channel into the product or "
                 "convolution before it",
      .pays_if_frozen = true,
      .pattern = {{.ops = {&ops.get("matmul"), &ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = can_be_scaled},
                  {.ops = {&ops.get("multiply"), &ops.get("divide")},
                   .operands = {Operand::of(0), Operand::outside(2)},
                   .role = PatternRole::kResult}},
      .holds = scales_channels,
      .make = with_scaled_weights,
      .samples =
          {{R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 1, 4]) -> (f32[2, 5, 5, 4]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = multiply(%2, %3) : f32[2, 5, 5, 4]
    return %4
  })",
            R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[1, 1, 1, 4]) -> (f32[2, 5, 5, 4]) {
    %3 = reshape(%2) {shape = shape[4]} : f32[4]
    %4 = multiply(%1, %3) : f32[1, 1, 3, 4]
    %5 = conv2d(%0, %4) : f32[2, 5, 5, 4]
    return %5
  })"},
           {R"(func @f(%0: f32[2, 3], %1: f32[4, 3], %2: f32[4], %3: f32[4]) -> (f32[2, 4]) {
    %4 = matmul(%0, %1, %2) {transpose_b = true} : f32[2, 4]
    %5 = divide(%4, %3) : f32[2, 4]
    return %5
  })",
            R"(func @f(%0: f32[2, 3], %1: f32[4, 3], %2: f32[4], %3: f32[4]) -> (f32[2, 4]) {
    %4 = reshape(%3) {shape = shape[4, 1]} : f32[4, 1]
    %5 = divide(%1, %4) : f32[4, 3]
    %6 = divide(%2, %3) : f32[4]
    %7 = matmul(%0, %5, %6) {transpose_b = true} : f32[2, 4]
    return %7
  })"},
           // The factor is one of each pixel.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[5, 1]) -> (f32[2, 5, 5, 4]) {
    %3 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %4 = multiply(%3, %2) : f32[2, 5, 5, 4]
    return %4
  })"},
           // What is divided is the factor.
           {R"(func @f(%0: f32[2, 3], %1: f32[3, 4], %2: f32[4]) -> (f32[2, 4]) {
    %3 = matmul(%0, %1) : f32[2, 4]
    %4 = divide(%2, %3) : f32[2, 4]
    return %4
  })"},
           // A relu stands between them.
           {R"(func @f(%0: f32[2, 3], %1: f32[3, 4], %2: f32[4]) -> (f32[2, 4]) {
    %3 = matmul(%0, %1) {activation = "relu"} : f32[2, 4]
    %4 = multiply(%3, %2) : f32[2, 4]
    return %4
  })"},
           // Somebody else reads the product.
           {R"(func @f(%0: f32[2, 3], %1: f32[3, 4], %2: f32[4]) -> (f32[2, 4], f32[2, 4]) {
    %3 = matmul(%0, %1) : f32[2, 4]
    %4 = multiply(%3, %2) : f32[2, 4]
    return %4, %3
  })"}},
  });
}

}  // namespace weft
