// Two products of a few rows with one right operand are one with the rows of
// both: reading that operand is what they take, and it is read once. So it is
// with the inputs of an unrolled recurrent layer, which wait for no state.
#include <array>

#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

// With more rows arithmetic is the limit, and a smaller operand stays in the
// caches next to the cores between both products.
constexpr Dim kMostRows = 64;
constexpr std::size_t kLeastBytes = 64 << 10;

bool are_of_few_rows(const MatchView& match) {
  const MatchedNode a = match.node(0);
  const MatchedNode b = match.node(1);
  const Shape& x = a.operand(0).shape;
  const Shape& z = b.operand(0).shape;
  return a.node.outputs[0] < b.node.outputs[0] &&
         a.attributes() == b.attributes() && x.rank() == 2 && z.rank() == 2 &&
         a.operand(1).shape.rank() == 2 &&
         !a.attributes().flag("transpose_a") && x[0] + z[0] <= kMostRows &&
         a.operand(1).bytes() >= kLeastBytes;
}

std::vector<Value> stacked_products(const MatchView& match) {
  const MatchedNode a = match.node(0);
  const Value rows = concat(std::array{match.outside(0), match.outside(2)}, 0);
  const Value w = match.outside(1);
  const Value y =
      call(*a.node.op, {&rows, &w}, a.attributes(), a.node.location);
  return split(y, {a.result().shape[0], match.node(1).result().shape[0]}, 0);
}

}  // namespace

void register_rule_stack_products(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpDef* matmul = &op_registry().get("matmul");
  rules.add({
      .name = "stack_products",
      .summary = "makes two products of few rows with one right operand one, "
                 "with the rows of both",
      .use = RuleUse::kAlways,
      .order = 93,
      .pattern = {{.ops = {matmul},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .role = PatternRole::kResult},
                  {.ops = {matmul},
                   .operands = {Operand::outside(2), Operand::outside(1)},
                   .role = PatternRole::kResult}},
      .holds = are_of_few_rows,
      .make = stacked_products,
      .samples =
          {{R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128]) -> (f32[1, 128], f32[2, 128]) {
    %3 = matmul(%0, %2) : f32[1, 128]
    %4 = matmul(%1, %2) : f32[2, 128]
    return %3, %4
  })",
            R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128]) -> (f32[1, 128], f32[2, 128]) {
    %3 = concat(%0, %1) {axis = 0} : f32[3, 128]
    %4 = matmul(%3, %2) : f32[3, 128]
    %5, %6 = split(%4) {sizes = [1, 2], axis = 0} : f32[1, 128], f32[2, 128]
    return %5, %6
  })"},
           // The second one waits for the first.
           {R"(func @f(%0: f32[1, 128], %1: f32[128, 128]) -> (f32[1, 128]) {
    %2 = matmul(%0, %1) : f32[1, 128]
    %3 = tanh(%2) : f32[1, 128]
    %4 = matmul(%3, %1) : f32[1, 128]
    return %4
  })"},
           // The right operand is small.
           {R"(func @f(%0: f32[1, 8], %1: f32[1, 8], %2: f32[8, 8]) -> (f32[1, 8], f32[1, 8]) {
    %3 = matmul(%0, %2) : f32[1, 8]
    %4 = matmul(%1, %2) : f32[1, 8]
    return %3, %4
  })"},
           // There are many rows.
           {R"(func @f(%0: f32[60, 128], %1: f32[60, 128], %2: f32[128, 128]) -> (f32[60, 128], f32[60, 128]) {
    %3 = matmul(%0, %2) : f32[60, 128]
    %4 = matmul(%1, %2) : f32[60, 128]
    return %3, %4
  })"},
           // One reads its columns as rows.
           {R"(func @f(%0: f32[1, 128], %1: f32[1, 128], %2: f32[128, 128]) -> (f32[1, 128], f32[1, 128]) {
    %3 = matmul(%0, %2) : f32[1, 128]
    %4 = matmul(%1, %2) {transpose_b = true} : f32[1, 128]
    return %3, %4
  })"}},
  });
}

}  // namespace weft
