// A normalisation by given moments is linear in each channel, and so a part of
// the product or convolution before it.
#include "weft/compiler/scaled_weights.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// With s = scale / sqrt(variance + epsilon): W' = W s, b' = (b - mean) s +
// shift.
std::vector<Value> with_folded_norm(const MatchView& match) {
  const MatchedNode heavy = match.node(0);
  const MatchedNode norm = match.node(1);
  const std::vector<Value> operands = match.operands_from(0, 0);
  const Value scale = match.outside(2);
  const Value shift = match.outside(3);
  const Value mean = match.outside(4);
  const Value variance = match.outside(5);
  const Value s = scale * rsqrt(variance + norm.attributes().real("epsilon"));
  const Value weights = operands[1] * along_weights(heavy, s);
  const Value bias =
      (operands.size() > 2 ? to_dtype(operands[2], mean.dtype()) - mean
                           : -mean) *
          s +
      shift;
  return {call(*heavy.node.op, {&operands[0], &weights, &bias},
               heavy.attributes(), heavy.node.location)};
}

}  // namespace

void register_rule_fold_batch_norm(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "fold_batch_norm",
      .summary = "folds a normalisation by given moments into the product or "
                 "convolution before it",
      .pays_if_frozen = true,
      // In training a batch has moments of its own, and the weights' gradients
      // would have to pass through the scale.
      .holds_in_training = false,
      .pattern = {{.ops = {&ops.get("matmul"), &ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = can_be_scaled},
                  {.ops = {&ops.get("batch_norm_infer")},
                   .operands = {Operand::of(0), Operand::outside(2),
                                Operand::outside(3), Operand::outside(4),
                                Operand::outside(5)},
                   .role = PatternRole::kResult}},
      .make = with_folded_norm,
      .samples =
          {{R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4], %6: f32[4]) -> (f32[2, 5, 5, 4]) {
    %7 = conv2d(%0, %1, %6) : f32[2, 5, 5, 4]
    %8 = batch_norm_infer(%7, %2, %3, %4, %5) {epsilon = 0.001} : f32[2, 5, 5, 4]
    return %8
  })",
            R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4], %6: f32[4]) -> (f32[2, 5, 5, 4]) {
    %7 = constant() {value = f32[](0.0010000000474974513)} : f32[]
    %8 = add(%5, %7) : f32[4]
    %9 = rsqrt(%8) : f32[4]
    %10 = multiply(%2, %9) : f32[4]
    %11 = multiply(%1, %10) : f32[1, 1, 3, 4]
    %12 = subtract(%6, %4) : f32[4]
    %13 = multiply(%12, %10) : f32[4]
    %14 = add(%13, %3) : f32[4]
    %15 = conv2d(%0, %11, %14) : f32[2, 5, 5, 4]
    return %15
  })"},
           {R"(func @f(%0: f32[2, 3], %1: f32[4, 3], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (f32[2, 4]) {
    %6 = matmul(%0, %1) {transpose_b = true} : f32[2, 4]
    %7 = batch_norm_infer(%6, %2, %3, %4, %5) {epsilon = 0.001} : f32[2, 4]
    return %7
  })",
            R"(func @f(%0: f32[2, 3], %1: f32[4, 3], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (f32[2, 4]) {
    %6 = constant() {value = f32[](0.0010000000474974513)} : f32[]
    %7 = add(%5, %6) : f32[4]
    %8 = rsqrt(%7) : f32[4]
    %9 = multiply(%2, %8) : f32[4]
    %10 = reshape(%9) {shape = shape[4, 1]} : f32[4, 1]
    %11 = multiply(%1, %10) : f32[4, 3]
    %12 = negate(%4) : f32[4]
    %13 = multiply(%12, %9) : f32[4]
    %14 = add(%13, %3) : f32[4]
    %15 = matmul(%0, %11, %14) {transpose_b = true} : f32[2, 4]
    return %15
  })"},
           // Images are bf16, their weights f32: these are rounded once.
           {R"(func @f(%0: bf16[1, 2, 2, 3], %1: f32[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (bf16[1, 2, 2, 4]) {
    %6 = conv2d(%0, %1) : bf16[1, 2, 2, 4]
    %7 = batch_norm_infer(%6, %2, %3, %4, %5) {epsilon = 0.001} : bf16[1, 2, 2, 4]
    return %7
  })",
            R"(func @f(%0: bf16[1, 2, 2, 3], %1: f32[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (bf16[1, 2, 2, 4]) {
    %6 = constant() {value = f32[](0.0010000000474974513)} : f32[]
    %7 = add(%5, %6) : f32[4]
    %8 = rsqrt(%7) : f32[4]
    %9 = multiply(%2, %8) : f32[4]
    %10 = multiply(%1, %9) : f32[1, 1, 3, 4]
    %11 = negate(%4) : f32[4]
    %12 = multiply(%11, %9) : f32[4]
    %13 = add(%12, %3) : f32[4]
    %14 = conv2d(%0, %10, %13) : bf16[1, 2, 2, 4]
    return %14
  })"},
           // Weights in bf16 would be rounded a second time.
           {R"(func @f(%0: bf16[1, 2, 2, 3], %1: bf16[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (bf16[1, 2, 2, 4]) {
    %6 = conv2d(%0, %1) : bf16[1, 2, 2, 4]
    %7 = batch_norm_infer(%6, %2, %3, %4, %5) : bf16[1, 2, 2, 4]
    return %7
  })"},
           // Somebody else reads the convolution.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (f32[2, 5, 5, 4], f32[2, 5, 5, 4]) {
    %6 = conv2d(%0, %1) : f32[2, 5, 5, 4]
    %7 = batch_norm_infer(%6, %2, %3, %4, %5) : f32[2, 5, 5, 4]
    return %6, %7
  })"},
           // A relu between them is not linear.
           {R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 1, 3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (f32[2, 5, 5, 4]) {
    %6 = conv2d(%0, %1) {activation = "relu"} : f32[2, 5, 5, 4]
    %7 = batch_norm_infer(%6, %2, %3, %4, %5) : f32[2, 5, 5, 4]
    return %7
  })"}},
  });
}

}  // namespace weft
