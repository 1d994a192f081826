// Parts that are put together as they were cut are the whole.
#include <algorithm>

#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool is_whole_again(const MatchView& match) {
  const MatchedNode cut = match.node(0);
  const MatchedNode join = match.node(1);
  const int rank = join.result().shape.rank();
  return join.node.inputs == cut.node.outputs &&
         normalize_axis(join.attributes().integer("axis"), rank, "concat") ==
             normalize_axis(cut.attributes().integer("axis"), rank, "split");
}

}  // namespace

void register_rule_concat_split(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "concat_split",
      .summary = "takes the whole where its parts are put together again",
      .keeps_bits = true,
      .pattern = {{.ops = {&ops.get("split")},
                   .operands = {Operand::outside(0)},
                   .role = PatternRole::kSource},
                  {.ops = {&ops.get("concat")},
                   .operands = {Operand::of(0)},
                   .role = PatternRole::kResult,
                   .may_have_more = true}},
      .holds = is_whole_again,
      .make =
          [](const MatchView& match) { return std::vector{match.outside(0)}; },
      .samples = {{R"(func @f(%0: f32[2, 7]) -> (f32[2, 7], f32[2, 3]) {
    %1, %2 = split(%0) {axis = 1, sizes = [3, 4]} : f32[2, 3], f32[2, 4]
    %3 = concat(%1, %2) {axis = -1} : f32[2, 7]
    %4 = exp(%3) : f32[2, 7]
    return %4, %1
  })",
                   R"(func @f(%0: f32[2, 7]) -> (f32[2, 7], f32[2, 3]) {
    %1, %2 = split(%0) {sizes = [3, 4], axis = 1} : f32[2, 3], f32[2, 4]
    %3 = exp(%0) : f32[2, 7]
    return %3, %1
  })"},
                  // They change places.
                  {R"(func @f(%0: f32[2, 8]) -> (f32[2, 8]) {
    %1, %2 = split(%0) {axis = 1, sizes = [4, 4]} : f32[2, 4], f32[2, 4]
    %3 = concat(%2, %1) {axis = 1} : f32[2, 8]
    return %3
  })"}},
  });
}

}  // namespace weft
