// What is done to each channel of a product or convolution may be done before a
// reshape that keeps the channels: there it is a part of what makes them.
#include "weft/compiler/scaled_weights.h"
#include "weft/graph/registry.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

bool keeps_channels(const MatchView& match) {
  const TensorType& y = match.node(0).result();
  const MatchedNode reshaped = match.node(1);
  const MatchedNode scaled = match.node(2);
  const auto& operands = scaled.node.inputs;
  if (y.shape.back() != reshaped.result().shape.back() ||
      scaled.result() != reshaped.result()) {
    return false;
  }
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const TensorType& channels = scaled.operand(i);
    // The vectors of a batch norm may be wider than images.
    if (!is_of_channels({y.dtype, channels.shape}, reshaped.result())) {
      return false;
    }
  }
  return true;
}

std::vector<Value> scaled_before_reshape(const MatchView& match) {
  const MatchedNode heavy = match.node(0);
  const MatchedNode scaled = match.node(2);
  std::vector<Value> operands =
      call_all(*heavy.node.op, match.operands_from(0, 0), heavy.attributes(),
               heavy.node.location);
  for (const Value& channels : match.operands_from(2, 1)) {
    operands.push_back(as_vector(channels));
  }
  const Value y = call_all(*scaled.node.op, operands, scaled.attributes(),
                           scaled.node.location)[0];
  return {reshape(y, scaled.result().shape)};
}

}  // namespace

void register_rule_scale_before_reshape(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "scale_before_reshape",
      .summary = "scales and shifts the channels of a product or convolution "
                 "before they are reshaped",
      .keeps_bits = true,
      .pays_if_frozen = true,
      .pattern = {{.ops = {&ops.get("matmul"), &ops.get("conv2d")},
                   .operands = {Operand::outside(0)},
                   .may_have_more = true,
                   .holds = can_be_scaled},
                  {.ops = {&ops.get("reshape")}, .operands = {Operand::of(0)}},
                  {.ops = {&ops.get("multiply"), &ops.get("divide"),
                           &ops.get("add"), &ops.get("subtract"),
                           &ops.get("batch_norm_infer")},
                   .operands = {Operand::of(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true}},
      .holds = keeps_channels,
      .make = scaled_before_reshape,
      .samples =
          {{R"(func @f(%0: f32[6, 3], %1: f32[3, 4], %2: f32[1, 1, 4]) -> (f32[2, 3, 4]) {
    %3 = matmul(%0, %1) : f32[6, 4]
    %4 = reshape(%3) {shape = shape[2, 3, 4]} : f32[2, 3, 4]
    %5 = multiply(%4, %2) : f32[2, 3, 4]
    return %5
  })",
            R"(func @f(%0: f32[6, 3], %1: f32[3, 4], %2: f32[1, 1, 4]) -> (f32[2, 3, 4]) {
    %3 = matmul(%0, %1) : f32[6, 4]
    %4 = reshape(%2) {shape = shape[4]} : f32[4]
    %5 = multiply(%3, %4) : f32[6, 4]
    %6 = reshape(%5) {shape = shape[2, 3, 4]} : f32[2, 3, 4]
    return %6
  })"},
           {R"(func @f(%0: f32[2, 3, 3], %1: f32[3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (f32[6, 4]) {
    %6 = matmul(%0, %1) : f32[2, 3, 4]
    %7 = reshape(%6) {shape = shape[6, 4]} : f32[6, 4]
    %8 = batch_norm_infer(%7, %2, %3, %4, %5) {epsilon = 0.001} : f32[6, 4]
    return %8
  })",
            R"(func @f(%0: f32[2, 3, 3], %1: f32[3, 4], %2: f32[4], %3: f32[4], %4: f32[4], %5: f32[4]) -> (f32[6, 4]) {
    %6 = matmul(%0, %1) : f32[2, 3, 4]
    %7 = batch_norm_infer(%6, %2, %3, %4, %5) {epsilon = 0.001} : f32[2, 3, 4]
    %8 = reshape(%7) {shape = shape[6, 4]} : f32[6, 4]
    return %8
  })"},
           // The factor is what is scaled.
           {R"(func @f(%0: f32[1, 3], %1: f32[3, 4]) -> (f32[1, 1, 4]) {
    %2 = matmul(%0, %1) : f32[1, 4]
    %3 = reshape(%2) {shape = shape[1, 1, 4]} : f32[1, 1, 4]
    %4 = multiply(%3, %3) : f32[1, 1, 4]
    return %4
  })"},
           // The reshape makes other channels.
           {R"(func @f(%0: f32[6, 3], %1: f32[3, 4], %2: f32[2]) -> (f32[12, 2]) {
    %3 = matmul(%0, %1) : f32[6, 4]
    %4 = reshape(%3) {shape = shape[12, 2]} : f32[12, 2]
    %5 = multiply(%4, %2) : f32[12, 2]
    return %5
  })"},
           // The factor is one of each row.
           {R"(func @f(%0: f32[6, 3], %1: f32[3, 4], %2: f32[3, 1]) -> (f32[2, 3, 4]) {
    %3 = matmul(%0, %1) : f32[6, 4]
    %4 = reshape(%3) {shape = shape[2, 3, 4]} : f32[2, 3, 4]
    %5 = multiply(%4, %2) : f32[2, 3, 4]
    return %5
  })"}},
  });
}

}  // namespace weft
