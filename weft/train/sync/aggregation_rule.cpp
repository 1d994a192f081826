#include "weft/train/sync/aggregation_rule.h"

namespace weft {

Call<AggregationRuleDef> rule_of(const SyncRecipe& recipe) {
  return parse_call(recipe.rule, aggregation_rule_registry(), "sync.rule");
}

bool is_mean(const SyncRecipe& recipe) {
  return rule_of(recipe).def->name == SyncRecipe().rule;
}

std::unique_ptr<AggregationRule> make_rule(const SyncRecipe& recipe) {
  if (is_mean(recipe)) return nullptr;
  const auto rule = rule_of(recipe);
  return rule.def->make(rule.options);
}

void combine_as_sum(AggregationRule& rule,
                    std::span<const Contribution> arrived,
                    std::span<float> result) {
  rule.combine(arrived, result);
  const auto count = static_cast<float>(arrived.size());
  for (float& value : result) value *= count;
}

}  // namespace weft
