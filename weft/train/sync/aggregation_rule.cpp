#include "weft/train/sync/aggregation_rule.h"

namespace weft {

Call<AggregationRuleDef> rule_of(const SyncRecipe& recipe) {
  return parse_call(recipe.rule, aggregation_rule_registry(), "sync.rule");
}

bool is_mean(const SyncRecipe& recipe) {
  return rule_of(recipe).def->make == nullptr;
}

bool looks_at_whole_gradients(const SyncRecipe& recipe) {
  constexpr int kMany = 1 << 10;  // no number of workers is asked about here
  const auto rule = make_rule(recipe, {.workers = kMany});
  return rule != nullptr && rule->measures() > 0;
}

std::unique_ptr<AggregationRule> make_rule(const SyncRecipe& recipe,
                                           const RuleContext& context) {
  const auto rule = rule_of(recipe);
  if (rule.def->make == nullptr) return nullptr;
  return rule.def->make(rule.options, context);
}

}  // namespace weft
