// The mean, which trusts every worker: one contribution that is wrong moves it
// as far as it likes.
#include "weft/train/sync/trimmed.h"

namespace weft {
namespace {

class Mean : public AggregationRule {
 public:
  void combine(std::span<const Contribution> arrived,
               std::span<float> result) override {
    trimmed_mean(arrived, 0, result);
  }
};

}  // namespace

void register_aggregation_rule_mean(AggregationRuleRegistry& rules) {
  rules.add({.name = "mean",
             .summary = "the mean of all",
             .make = [](const Options&) -> std::unique_ptr<AggregationRule> {
               return std::make_unique<Mean>();
             }});
}

}  // namespace weft
