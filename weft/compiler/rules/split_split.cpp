// Parts of a part are parts of the whole: merges in pairs leave such
// chains behind.
#include <algorithm>

#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

bool is_along_one_axis(const MatchView& match) {
  const int rank = match.node(0).operand(0).shape.rank();
  return normalize_axis(match.attributes(0).integer("axis"), rank, "split") ==
         normalize_axis(match.attributes(1).integer("axis"), rank, "split");
}

// Which part of the outer split the inner one cuts.
std::size_t inner_part(const MatchView& match) {
  const std::vector<ValueId>& parts = match.node(0).node.outputs;
  const ValueId cut = match.node(1).node.inputs[0];
  return static_cast<std::size_t>(std::ranges::find(parts, cut) -
                                  parts.begin());
}

std::vector<Value> as_one_split(const MatchView& match) {
  Integers sizes = match.attributes(0).integers("sizes");
  const Integers& inner = match.attributes(1).integers("sizes");
  const auto part = static_cast<std::ptrdiff_t>(inner_part(match));
  sizes.erase(sizes.begin() + part);
  sizes.insert(sizes.begin() + part, inner.begin(), inner.end());
  const std::int64_t axis = match.attributes(0).integer("axis");
  const std::vector<Value> parts = split(match.outside(0), sizes, axis);
  // The parts of the outer one come first, as the pattern's results do.
  const auto first = parts.begin() + part;
  const auto last = first + static_cast<std::ptrdiff_t>(inner.size());
  std::vector<Value> results(parts.begin(), first);
  results.push_back(concat(std::span(first, last), axis));
  results.insert(results.end(), last, parts.end());
  results.insert(results.end(), first, last);
  return results;
}

}  // namespace

void register_rule_split_split(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "split_split",
      .summary = "makes one split of one of a part of another",
      .keeps_bits = true,
      .pattern = {{.ops = {&ops.get("split")},
                   .operands = {Operand::outside(0)},
                   .role = PatternRole::kResult},
                  {.ops = {&ops.get("split")},
                   .operands = {Operand::any_of(0)},
                   .role = PatternRole::kResult}},
      .holds = is_along_one_axis,
      .make = as_one_split,
      .samples =
          {{R"(func @f(%0: f32[2, 9]) -> (f32[2, 1], f32[2, 3], f32[2, 5]) {
    %1, %2 = split(%0) {axis = 1, sizes = [4, 5]} : f32[2, 4], f32[2, 5]
    %3, %4 = split(%1) {axis = 1, sizes = [1, 3]} : f32[2, 1], f32[2, 3]
    return %3, %4, %2
  })",
            R"(func @f(%0: f32[2, 9]) -> (f32[2, 1], f32[2, 3], f32[2, 5]) {
    %1, %2, %3 = split(%0) {sizes = [1, 3, 5], axis = 1} : f32[2, 1], f32[2, 3], f32[2, 5]
    return %1, %2, %3
  })"},
           // The axes differ.
           {R"(func @f(%0: f32[4, 9]) -> (f32[1, 4], f32[3, 4], f32[4, 5]) {
    %1, %2 = split(%0) {axis = 1, sizes = [4, 5]} : f32[4, 4], f32[4, 5]
    %3, %4 = split(%1) {axis = 0, sizes = [1, 3]} : f32[1, 4], f32[3, 4]
    return %3, %4, %2
  })"}},
  });
}

}  // namespace weft
