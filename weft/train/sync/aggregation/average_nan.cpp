// The mean of what is finite in each entry, for networks that lose parts of
// gradients and leave NaN in their places (Damaskinos et al., "AggregaThor",
// MLSys 2019). It bears no worker that is wrong otherwise.
#include "weft/train/sync/entrywise.h"

namespace weft {
namespace {

class AverageNan : public AggregationRule {
 public:
  void combine(const RulePart& part, std::span<float> result) override {
    mean_of_finite(part.arrived, static_cast<double>(part.arrived.size()),
                   result);
  }
};

}  // namespace

void register_aggregation_rule_average_nan(AggregationRuleRegistry& rules) {
  rules.add({.name = "average_nan",
             .summary = "of each entry, the mean of what is finite; 0 where "
                        "nothing is",
             .make = [](const Options&, const RuleContext&)
                 -> std::unique_ptr<AggregationRule> {
               return std::make_unique<AverageNan>();
             }});
}

}  // namespace weft
