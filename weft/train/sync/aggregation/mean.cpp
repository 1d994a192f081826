// The mean, which trusts every worker: one contribution that is wrong moves it
// as far as it likes. Contributions are added as they come.
#include "weft/train/sync/aggregation_rule.h"

namespace weft {

void register_aggregation_rule_mean(AggregationRuleRegistry& rules) {
  rules.add({.name = "mean", .summary = "the mean of all"});
}

}  // namespace weft
