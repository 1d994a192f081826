// a b + a c = a (b + c), as SRU's cell has it twice.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool keeps_shapes(const MatchView& match) {
  // The sum of the other factors must not be larger than the products were.
  const TensorType& b = match.type(1);
  const TensorType& c = match.type(2);
  return b == c && b == match.node(0).result();
}

std::vector<Value> factored(const MatchView& match) {
  const MatchedNode sum = match.node(0);
  const MatchedNode product = match.node(1);
  const Value a = match.outside(0);
  const Value b = match.outside(1);
  const Value c = match.outside(2);
  const Value total =
      call(*sum.node.op, {&b, &c}, sum.attributes(), sum.node.location);
  return {call(*product.node.op, {&a, &total}, product.attributes(),
               sum.node.location)};
}

}  // namespace

void register_rule_factor_out(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "factor_out",
      .summary = "multiplies a sum in place of its terms",
      .pattern = {{.ops = {&ops.get("add"), &ops.get("subtract")},
                   .operands = {Operand::of(1), Operand::of(2)},
                   .role = PatternRole::kResult},
                  {.ops = {&ops.get("multiply")},
                   .operands = {Operand::outside(0), Operand::outside(1)}},
                  {.ops = {&ops.get("multiply")},
                   .operands = {Operand::outside(0), Operand::outside(2)}}},
      .holds = keeps_shapes,
      .make = factored,
      .samples =
          {{R"(func @f(%0: f32[4], %1: f32[4], %2: f32[4]) -> (f32[4]) {
    %3 = multiply(%0, %1) : f32[4]
    %4 = multiply(%2, %0) : f32[4]
    %5 = subtract(%3, %4) : f32[4]
    return %5
  })",
            R"(func @f(%0: f32[4], %1: f32[4], %2: f32[4]) -> (f32[4]) {
    %3 = subtract(%1, %2) : f32[4]
    %4 = multiply(%0, %3) : f32[4]
    return %4
  })"},
           // A product is a result itself.
           {R"(func @f(%0: f32[4], %1: f32[4], %2: f32[4]) -> (f32[4], f32[4]) {
    %3 = multiply(%0, %1) : f32[4]
    %4 = multiply(%2, %0) : f32[4]
    %5 = add(%3, %4) : f32[4]
    return %3, %5
  })"}},
  });
}

}  // namespace weft
