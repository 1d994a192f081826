// Krum: the gradient of the worker that is closest to the others (Blanchard, El
// Mhamdi, Guerraoui and Stainer, "Machine Learning with Adversaries: Byzantine
// Tolerant Gradient Descent", NeurIPS 2017).
#include "weft/train/sync/krum.h"

namespace weft {

void register_aggregation_rule_krum(AggregationRuleRegistry& rules) {
  rules.add(
      {.name = "krum",
       .summary = "the gradient of the worker that is closest to the others",
       .options = {wrong_workers_option()},
       .declines_workers =
           [](const Options& options, int workers) {
             return needs_workers(options, workers, 2);
           },
       .make = [](const Options& options, const RuleContext& context)
           -> std::unique_ptr<AggregationRule> {
         return make_multi_krum(context, option<std::int64_t>(options, "f"),
                                /*selected=*/1);
       }});
}

}  // namespace weft
