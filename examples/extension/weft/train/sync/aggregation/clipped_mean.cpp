// The mean of contributions that are shortened to a length: a single one can
// move it no further than that (centered clipping around zero; Karimireddy, He
// and Jaggi, "Learning from History for Byzantine Robust Optimization", ICML
// 2021).
#include <cmath>

#include "weft/base/ranges.h"
#include "weft/train/sync/aggregation_rule.h"

namespace weft {
namespace {

double length_of(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

class ClippedMean : public AggregationRule {
 public:
  explicit ClippedMean(double most) : most_(most) {}

  void combine(const RulePart& part, std::span<float> result) override {
    std::ranges::fill(result, 0.0f);
    for (const Contribution& contribution : part.arrived) {
      const double length = length_of(contribution.values);
      // A length that is no number says nothing that could be shortened.
      if (!std::isfinite(length)) continue;
      const auto scale =
          static_cast<float>(length > most_ ? most_ / length : 1);
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] += scale * contribution.values[i];
      }
    }
  }

 private:
  double most_;
};

}  // namespace

void register_aggregation_rule_clipped_mean(AggregationRuleRegistry& rules) {
  rules.add(
      {.name = "clipped_mean",
       .summary = "the mean of contributions of a bounded length",
       .options = {{"most", 1.0, "their length", kPositive}},
       .make = [](const Options& options,
                  const RuleContext&) -> std::unique_ptr<AggregationRule> {
         return std::make_unique<ClippedMean>(option<double>(options, "most"));
       }});
}

}  // namespace weft
