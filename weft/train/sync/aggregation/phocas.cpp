// The mean of the n - f values of each entry that are closest to its trimmed
// mean (Xie, Koyejo and Gupta, "Phocas: dimensional Byzantine-resilient
// stochastic gradient descent", 2018, definition 8).
#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/wrong_workers.h"

namespace weft {
namespace {

class Phocas : public AggregationRule {
 public:
  explicit Phocas(std::size_t wrong) : wrong_(wrong) {}

  void combine(const RulePart& part, std::span<float> result) override {
    const std::size_t count = part.arrived.size();
    mean_of_closest(part.arrived, trimmed(count, wrong_), count - wrong_,
                    static_cast<double>(count), result);
  }

 private:
  std::size_t wrong_;
};

}  // namespace

void register_aggregation_rule_phocas(AggregationRuleRegistry& rules) {
  rules.add(
      {.name = "phocas",
       .summary =
           "of each entry, the mean of all but f around the trimmed mean",
       .options = {wrong_workers_option()},
       .declines_workers = needs_majority,
       .make = [](const Options& options,
                  const RuleContext&) -> std::unique_ptr<AggregationRule> {
         return std::make_unique<Phocas>(
             static_cast<std::size_t>(option<std::int64_t>(options, "f")));
       }});
}

}  // namespace weft
