// An elementwise op of both parts of a split may as well be of the whole:
// what was split then hides no activation from the convolution that made it.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool is_of_both_parts(const MatchView& match) {
  const MatchedNode cut = match.node(0);
  const MatchedNode a = match.node(1);
  const MatchedNode b = match.node(2);
  return cut.node.outputs.size() == 2 && a.node.op == b.node.op &&
         a.attributes() == b.attributes();
}

std::vector<Value> before_split(const MatchView& match) {
  const MatchedNode op = match.node(1);
  const Value x = match.outside(0);
  const Value y = call(*op.node.op, {&x}, op.attributes(), op.node.location);
  const MatchedNode cut = match.node(0);
  return call_all(*cut.node.op, {&y, 1}, cut.attributes(), cut.node.location);
}

}  // namespace

void register_rule_elementwise_before_split(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "elementwise_before_split",
      .summary = "applies an elementwise op of two parts before they are split",
      .keeps_bits = true,
      .pattern = {{.ops = {&ops.get("split")},
                   .operands = {Operand::outside(0)}},
                  {.traits = kElementwise,
                   .operands = {Operand::of(0, 0)},
                   .role = PatternRole::kResult},
                  {.traits = kElementwise,
                   .operands = {Operand::of(0, 1)},
                   .role = PatternRole::kResult}},
      .holds = is_of_both_parts,
      .make = before_split,
      .samples =
          {{R"(func @f(%0: f32[2, 7]) -> (f32[2, 3], f32[2, 4]) {
    %1, %2 = split(%0) {axis = 1, sizes = [3, 4]} : f32[2, 3], f32[2, 4]
    %3 = relu(%1) : f32[2, 3]
    %4 = relu(%2) : f32[2, 4]
    return %3, %4
  })",
            R"(func @f(%0: f32[2, 7]) -> (f32[2, 3], f32[2, 4]) {
    %1 = relu(%0) : f32[2, 7]
    %2, %3 = split(%1) {sizes = [3, 4], axis = 1} : f32[2, 3], f32[2, 4]
    return %2, %3
  })"},
           // The ops differ.
           {R"(func @f(%0: f32[2, 7]) -> (f32[2, 3], f32[2, 4]) {
    %1, %2 = split(%0) {axis = 1, sizes = [3, 4]} : f32[2, 3], f32[2, 4]
    %3 = relu(%1) : f32[2, 3]
    %4 = exp(%2) : f32[2, 4]
    return %3, %4
  })"},
           // A part is read as it is, too.
           {R"(func @f(%0: f32[2, 7]) -> (f32[2, 3], f32[2, 4], f32[2, 4]) {
    %1, %2 = split(%0) {axis = 1, sizes = [3, 4]} : f32[2, 3], f32[2, 4]
    %3 = relu(%1) : f32[2, 3]
    %4 = relu(%2) : f32[2, 4]
    return %3, %4, %2
  })"}},
  });
}

}  // namespace weft
