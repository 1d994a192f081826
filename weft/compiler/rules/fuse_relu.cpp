// The library applies a relu to a product or a convolution while the result is
// still in registers; it knows no other activation there.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool has_no_activation(const MatchedNode& heavy) {
  return heavy.attributes().text("activation") == "none";
}

std::vector<Value> with_relu(const MatchView& match) {
  const MatchedNode heavy = match.node(0);
  const std::vector<Value> operands = match.operands_from(0, 0);
  Attributes attributes = heavy.attributes();
  attributes.set("activation", std::string("relu"));
  return call_all(*heavy.node.op, operands, attributes, heavy.node.location);
}

}  // namespace

void register_rule_fuse_relu(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "fuse_relu",
      .summary = "moves a relu into the product or convolution before it",
      .use = RuleUse::kAlways,
      .order = 101,
      // The relu changes no bit, but the kernel of the whole may be another.
      .pattern = {{.ops = {&ops.get("matmul"), &ops.get("conv2d"),
                           &ops.get("conv2d_onto")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = has_no_activation},
                  {.ops = {&ops.get("relu")},
                   .operands = {Operand::of(0)},
                   .role = PatternRole::kResult}},
      .make = with_relu,
      .samples =
          {{R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1, %2) : f32[8, 3]
    %4 = relu(%3) : f32[8, 3]
    return %4
  })",
            R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1, %2) {activation = "relu"} : f32[8, 3]
    return %3
  })"},
           // What is before the relu is a result.
           {R"(func @f(%0: f32[8, 4], %1: f32[4, 3]) -> (f32[8, 3], f32[8, 3]) {
    %2 = matmul(%0, %1) : f32[8, 3]
    %3 = relu(%2) : f32[8, 3]
    return %2, %3
  })"}},
  });
}

}  // namespace weft
