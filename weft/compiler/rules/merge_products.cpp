// Two products with one left operand are one with the columns of both, as those
// of the gates of a recurrent cell.
#include <array>

#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

bool are_mergeable_products(const MatchView& match) {
  const MatchedNode a = match.node(0);
  const MatchedNode b = match.node(1);
  const Shape& w = a.operand(1).shape;
  const Shape& v = b.operand(1).shape;
  return a.node.outputs[0] < b.node.outputs[0] && have_like_biases(a, b) &&
         a.attributes() == b.attributes() &&
         // One matrix each, whose columns are counted.
         w.rank() == 2 && v.rank() == 2 && a.operand(0).shape.rank() >= 2 &&
         !is_symbolic(a.result().shape.back()) &&
         !is_symbolic(b.result().shape.back());
}

std::vector<Value> merged_products(const MatchView& match) {
  const MatchedNode a = match.node(0);
  std::vector<Value> operands = match.operands_from(0, 0);
  const std::vector<Value> others = match.operands_from(1, 1);
  // Columns of a matrix that is stored transposed are its rows.
  const bool is_transposed = a.attributes().flag("transpose_b");
  operands[1] =
      concat(std::array{operands[1], others[0]}, is_transposed ? 0 : 1);
  if (operands.size() > 2) {
    operands[2] = concat(std::array{operands[2], others[1]}, 0);
  }
  const Value y =
      call_all(*a.node.op, operands, a.attributes(), a.node.location)[0];
  return split(
      y, {a.result().shape.back(), match.node(1).result().shape.back()}, -1);
}

}  // namespace

void register_rule_merge_products(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpDef* matmul = &op_registry().get("matmul");
  rules.add({
      .name = "merge_products",
      .summary = "makes two products with one left operand one, with the "
                 "columns of both",
      .pattern = {{.ops = {matmul},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true},
                  {.ops = {matmul},
                   .operands = {Operand::outside(0), Operand::outside(2)},
                   .role = PatternRole::kResult,
                   .may_have_more = true}},
      .holds = are_mergeable_products,
      .make = merged_products,
      .samples =
          {{R"(func @f(%0: f32[2, 5], %1: f32[5, 3], %2: f32[5, 4], %3: f32[3], %4: f32[4]) -> (f32[2, 3], f32[2, 4]) {
    %5 = matmul(%0, %1, %3) : f32[2, 3]
    %6 = matmul(%0, %2, %4) : f32[2, 4]
    return %5, %6
  })",
            R"(func @f(%0: f32[2, 5], %1: f32[5, 3], %2: f32[5, 4], %3: f32[3], %4: f32[4]) -> (f32[2, 3], f32[2, 4]) {
    %5 = concat(%1, %2) {axis = 1} : f32[5, 7]
    %6 = concat(%3, %4) {axis = 0} : f32[7]
    %7 = matmul(%0, %5, %6) : f32[2, 7]
    %8, %9 = split(%7) {sizes = [3, 4], axis = -1} : f32[2, 3], f32[2, 4]
    return %8, %9
  })"},
           {R"(func @f(%0: f32[2, 5], %1: f32[3, 5], %2: f32[4, 5]) -> (f32[2, 3], f32[2, 4]) {
    %3 = matmul(%0, %1) {transpose_b = true} : f32[2, 3]
    %4 = matmul(%0, %2) {transpose_b = true} : f32[2, 4]
    return %3, %4
  })",
            R"(func @f(%0: f32[2, 5], %1: f32[3, 5], %2: f32[4, 5]) -> (f32[2, 3], f32[2, 4]) {
    %3 = concat(%1, %2) {axis = 0} : f32[7, 5]
    %4 = matmul(%0, %3) {transpose_b = true} : f32[2, 7]
    %5, %6 = split(%4) {sizes = [3, 4], axis = -1} : f32[2, 3], f32[2, 4]
    return %5, %6
  })"},
           // One has a bias.
           {R"(func @f(%0: f32[2, 5], %1: f32[5, 3], %2: f32[5, 4], %3: f32[3]) -> (f32[2, 3], f32[2, 4]) {
    %4 = matmul(%0, %1, %3) : f32[2, 3]
    %5 = matmul(%0, %2) : f32[2, 4]
    return %4, %5
  })"},
           // The biases have dtypes of their own.
           {R"(func @f(%0: bf16[2, 5], %1: bf16[5, 3], %2: bf16[5, 4], %3: bf16[3], %4: f32[4]) -> (bf16[2, 3], bf16[2, 4]) {
    %5 = matmul(%0, %1, %3) : bf16[2, 3]
    %6 = matmul(%0, %2, %4) : bf16[2, 4]
    return %5, %6
  })"},
           // The second one needs the first.
           {R"(func @f(%0: f32[2, 2], %1: f32[2, 2]) -> (f32[2, 2]) {
    %2 = matmul(%0, %1) : f32[2, 2]
    %3 = exp(%2) : f32[2, 2]
    %4 = matmul(%0, %3) : f32[2, 2]
    return %4
  })"}},
  });
}

}  // namespace weft
