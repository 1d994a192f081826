// x W + y V = [x y] [W; V]: a sum of two products is one product whose inner
// axes lie behind each other; where x is y, the weights are added.
#include <array>

#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

bool is_plain_product(const MatchedNode& product) {
  // The bias of one of two stays a bias.
  return product.attributes().text("activation") == "none" &&
         product.operand(0).shape.rank() >= 2 &&
         product.operand(1).shape.rank() == 2;
}

bool are_products_alike(const MatchView& match) {
  const MatchedNode a = match.node(1);
  const MatchedNode b = match.node(2);
  const Shape& x = a.operand(0).shape;
  const Shape& y = b.operand(0).shape;
  return a.node.outputs[0] < b.node.outputs[0] &&
         a.attributes() == b.attributes() && a.node.inputs.size() == 2 &&
         b.node.inputs.size() == 2 && !a.attributes().flag("transpose_a") &&
         a.result() == b.result() && match.node(0).result() == a.result() &&
         x.rank() == y.rank();
}

std::vector<Value> as_one_product(const MatchView& match) {
  const MatchedNode a = match.node(1);
  const int inner = a.attributes().flag("transpose_b") ? 1 : 0;
  const std::vector<Value> one = match.operands_from(1, 0);
  const std::vector<Value> other = match.operands_from(2, 0);
  const bool is_one_operand = a.node.inputs[0] == match.node(2).node.inputs[0];
  const Value x =
      is_one_operand ? one[0] : concat(std::array{one[0], other[0]}, -1);
  const Value w = is_one_operand ? one[1] + other[1]
                                 : concat(std::array{one[1], other[1]}, inner);
  return {call(*a.node.op, {&x, &w}, a.attributes(), a.node.location)};
}

}  // namespace

void register_rule_add_products(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "add_products",
      .summary = "makes one product of two that are added",
      .pattern = {{.ops = {&ops.get("add")},
                   .operands = {Operand::of(1), Operand::of(2)},
                   .role = PatternRole::kResult},
                  {.ops = {&ops.get("matmul")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .holds = is_plain_product},
                  {.ops = {&ops.get("matmul")},
                   .operands = {Operand::outside(2), Operand::outside(3)},
                   .holds = is_plain_product}},
      .holds = are_products_alike,
      .make = as_one_product,
      .samples =
          {{R"(func @f(%0: f32[2, 5], %1: f32[5, 3], %2: f32[2, 4], %3: f32[4, 3]) -> (f32[2, 3]) {
    %4 = matmul(%0, %1) : f32[2, 3]
    %5 = matmul(%2, %3) : f32[2, 3]
    %6 = add(%4, %5) : f32[2, 3]
    return %6
  })",
            R"(func @f(%0: f32[2, 5], %1: f32[5, 3], %2: f32[2, 4], %3: f32[4, 3]) -> (f32[2, 3]) {
    %4 = concat(%0, %2) {axis = -1} : f32[2, 9]
    %5 = concat(%1, %3) {axis = 0} : f32[9, 3]
    %6 = matmul(%4, %5) : f32[2, 3]
    return %6
  })"},
           {R"(func @f(%0: f32[2, 5], %1: f32[3, 5], %2: f32[3, 5]) -> (f32[2, 3]) {
    %3 = matmul(%0, %1) {transpose_b = true} : f32[2, 3]
    %4 = matmul(%0, %2) {transpose_b = true} : f32[2, 3]
    %5 = add(%3, %4) : f32[2, 3]
    return %5
  })",
            R"(func @f(%0: f32[2, 5], %1: f32[3, 5], %2: f32[3, 5]) -> (f32[2, 3]) {
    %3 = add(%1, %2) : f32[3, 5]
    %4 = matmul(%0, %3) {transpose_b = true} : f32[2, 3]
    return %4
  })"},
           // One row is repeated.
           {R"(func @f(%0: f32[2, 5], %1: f32[5, 3], %2: f32[1, 4], %3: f32[4, 3]) -> (f32[2, 3]) {
    %4 = matmul(%0, %1) : f32[2, 3]
    %5 = matmul(%2, %3) : f32[1, 3]
    %6 = add(%4, %5) : f32[2, 3]
    return %6
  })"}},
  });
}

}  // namespace weft
