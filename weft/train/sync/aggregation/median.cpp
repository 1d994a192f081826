// The coordinate-wise median (Yin et al., ICML 2018, definition 1); of an even
// number of contributions, the mean of the two in the middle.
#include "weft/train/sync/trimmed.h"

namespace weft {
namespace {

class Median : public AggregationRule {
 public:
  void combine(std::span<const Contribution> arrived,
               std::span<float> result) override {
    trimmed_mean(arrived, (arrived.size() - 1) / 2, result);
  }
};

}  // namespace

void register_aggregation_rule_median(AggregationRuleRegistry& rules) {
  rules.add({.name = "median",
             .summary = "of each entry: bears a minority of wrong workers",
             .make = [](const Options&) -> std::unique_ptr<AggregationRule> {
               return std::make_unique<Median>();
             }});
}

}  // namespace weft
