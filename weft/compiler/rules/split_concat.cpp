// The parts of what was put together from the same parts are there already.
#include "weft/base/index.h"
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// Whether the operands of the concat have the sizes of the split, along one
// axis.
bool are_same_parts(const MatchView& match) {
  const MatchedNode join = match.node(0);
  const MatchedNode cut = match.node(1);
  const int rank = join.result().shape.rank();
  const int axis =
      normalize_axis(join.attributes().integer("axis"), rank, "concat");
  const Integers& sizes = cut.attributes().integers("sizes");
  if (axis != normalize_axis(cut.attributes().integer("axis"), rank, "split") ||
      sizes.size() != join.node.inputs.size()) {
    return false;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (join.operand(i).shape[axis] != sizes[i]) return false;
  }
  return true;
}

}  // namespace

void register_rule_split_concat(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "split_concat",
      .summary = "takes parts from where they were put together",
      .keeps_bits = true,
      .pattern = {{.ops = {&ops.get("concat")},
                   .role = PatternRole::kSource,
                   .may_have_more = true},
                  {.ops = {&ops.get("split")},
                   .operands = {Operand::of(0)},
                   .role = PatternRole::kResult}},
      .holds = are_same_parts,
      .make = [](const MatchView& match) { return match.operands_from(0, 0); },
      .samples =
          {{R"(func @f(%0: f32[2, 3], %1: f32[2, 4]) -> (f32[2, 7], f32[2, 4], f32[2, 3]) {
    %2 = concat(%0, %1) {axis = 1} : f32[2, 7]
    %3, %4 = split(%2) {axis = -1, sizes = [3, 4]} : f32[2, 3], f32[2, 4]
    %5 = exp(%4) : f32[2, 4]
    return %2, %5, %3
  })",
            R"(func @f(%0: f32[2, 3], %1: f32[2, 4]) -> (f32[2, 7], f32[2, 4], f32[2, 3]) {
    %2 = concat(%0, %1) {axis = 1} : f32[2, 7]
    %3 = exp(%1) : f32[2, 4]
    return %2, %3, %0
  })"},
           // It is cut elsewhere.
           {R"(func @f(%0: f32[2, 3], %1: f32[2, 4]) -> (f32[2, 2], f32[2, 5]) {
    %2 = concat(%0, %1) {axis = 1} : f32[2, 7]
    %3, %4 = split(%2) {axis = 1, sizes = [2, 5]} : f32[2, 2], f32[2, 5]
    return %3, %4
  })"}},
  });
}

}  // namespace weft
