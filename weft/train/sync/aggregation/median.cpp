// The coordinate-wise median (Yin, Chen, Ramchandran and Bartlett,
// "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates",
// ICML 2018, definition 1); of an even number of contributions, the upper of
// the two in the middle, so that each entry is one that a worker has sent.
#include "weft/train/sync/entrywise.h"

namespace weft {
namespace {

class Median : public AggregationRule {
 public:
  void combine(const RulePart& part, std::span<float> result) override {
    const std::size_t count = part.arrived.size();
    mean_of_middle(part.arrived, median_of(count), static_cast<double>(count),
                   result);
  }
};

}  // namespace

void register_aggregation_rule_median(AggregationRuleRegistry& rules) {
  rules.add({.name = "median",
             .summary = "of each entry: bears a minority of wrong workers",
             .make = [](const Options&, const RuleContext&)
                 -> std::unique_ptr<AggregationRule> {
               return std::make_unique<Median>();
             }});
}

}  // namespace weft
