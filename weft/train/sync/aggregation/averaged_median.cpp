// The mean of the n - f values of each entry that are closest to its median
// ("mean around median": Xie, Koyejo and Gupta, "Generalized Byzantine-tolerant
// SGD", 2018, definition 7).
#include "weft/train/sync/entrywise.h"
#include "weft/train/sync/wrong_workers.h"

namespace weft {
namespace {

class AveragedMedian : public AggregationRule {
 public:
  explicit AveragedMedian(std::size_t wrong) : wrong_(wrong) {}

  void combine(const RulePart& part, std::span<float> result) override {
    const std::size_t count = part.arrived.size();
    mean_of_closest(part.arrived, median_of(count), count - wrong_,
                    static_cast<double>(count), result);
  }

 private:
  std::size_t wrong_;
};

}  // namespace

void register_aggregation_rule_averaged_median(AggregationRuleRegistry& rules) {
  rules.add(
      {.name = "averaged_median",
       .summary = "of each entry, the mean of all but f around the median",
       .options = {wrong_workers_option()},
       .declines_workers = needs_majority,
       .make = [](const Options& options,
                  const RuleContext&) -> std::unique_ptr<AggregationRule> {
         return std::make_unique<AveragedMedian>(
             static_cast<std::size_t>(option<std::int64_t>(options, "f")));
       }});
}

}  // namespace weft
