// Pools look at each channel by itself, so that images may be put beside each
// other behind them, where they are smaller.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

bool joins_channels(const MatchedNode& concat) {
  return concat.result().shape.rank() == 4 &&
         normalize_axis(concat.attributes().integer("axis"), 4, "concat") == 3;
}

bool makes_less(const MatchView& match) {
  return match.node(1).result().shape.num_elements() <
         match.node(0).result().shape.num_elements();
}

std::vector<Value> pools_of_parts(const MatchView& match) {
  const MatchedNode pool = match.node(1);
  // There is a list for each result: a max pool also says where its maxima
  // were.
  std::vector<std::vector<Value>> parts(pool.node.outputs.size());
  for (const Value& image : match.operands_from(0, 0)) {
    const auto results = call_all(*pool.node.op, {{image}}, pool.attributes(),
                                  pool.node.location);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].push_back(results[i]);
    }
  }
  std::vector<Value> results;
  for (const auto& each : parts) results.push_back(concat(each, 3));
  return results;
}

}  // namespace

void register_rule_pool_parts(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "pool_parts",
      .summary = "puts images beside each other behind a pool, not before it",
      .use = RuleUse::kAlways,
      .order = 87,
      .keeps_bits = true,
      .pattern = {{.ops = {&ops.get("concat")},
                   .operands = {Operand::outside(0)},
                   .may_have_more = true,
                   .holds = joins_channels},
                  {.ops = {&ops.get("max_pool"), &ops.get("avg_pool")},
                   .operands = {Operand::of(0)},
                   .role = PatternRole::kResult}},
      .holds = makes_less,
      .make = pools_of_parts,
      .samples =
          {{R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 4, 4, 2]) -> (f32[1, 2, 2, 5]) {
    %2 = concat(%0, %1) {axis = -1} : f32[1, 4, 4, 5]
    %3 = avg_pool(%2) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 5]
    return %3
  })",
            R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 4, 4, 2]) -> (f32[1, 2, 2, 5]) {
    %2 = avg_pool(%0) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 3]
    %3 = avg_pool(%1) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 2]
    %4 = concat(%2, %3) {axis = 3} : f32[1, 2, 2, 5]
    return %4
  })"},
           // A pool that makes nothing smaller gains nothing.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 4, 4, 2]) -> (f32[1, 4, 4, 5]) {
    %2 = concat(%0, %1) {axis = 3} : f32[1, 4, 4, 5]
    %3 = avg_pool(%2) {window = [1, 1], strides = [1, 1]} : f32[1, 4, 4, 5]
    return %3
  })"},
           // Somebody else reads the concatenation.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 4, 4, 2]) -> (f32[1, 2, 2, 5], f32[1, 4, 4, 5]) {
    %2 = concat(%0, %1) {axis = 3} : f32[1, 4, 4, 5]
    %3 = avg_pool(%2) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 5]
    return %3, %2
  })"}},
  });
}

}  // namespace weft
