// The coordinate-wise trimmed mean (Yin, Chen, Ramchandran and Bartlett,
// "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates",
// ICML 2018, definition 2).
#include "weft/base/ranges.h"
#include "weft/train/sync/entrywise.h"

namespace weft {
namespace {

class TrimmedMean : public AggregationRule {
 public:
  explicit TrimmedMean(std::size_t trim) : trim_(trim) {}
  void combine(const RulePart& part, std::span<float> result) override {
    const std::size_t count = part.arrived.size();
    mean_of_middle(part.arrived, trimmed(count, trim_),
                   static_cast<double>(count), result);
  }

 private:
  std::size_t trim_;
};

std::optional<Refusal> trimmed_mean_declines(const Options& options,
                                             int workers) {
  const auto trim = option<std::int64_t>(options, "trim");
  if (2 * trim < workers) return std::nullopt;
  return Refusal{
      fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"),
      fmt::format("without the {} smallest and the {} largest values nothing "
                  "would be left",
                  trim, trim),
      fmt::format("{} workers, or trimmed_mean({})", 2 * trim + 1,
                  (workers - 1) / 2)};
}

}  // namespace

void register_aggregation_rule_trimmed_mean(AggregationRuleRegistry& rules) {
  rules.add(
      {.name = "trimmed_mean",
       .summary = "of each entry, without its extremes",
       .options = {{.name = "trim",
                    .value = std::int64_t{1},
                    .summary = "smallest and largest values that are "
                               "left out: workers that may be wrong",
                    .range = kAtLeastOne,
                    .unit = "workers"}},
       .declines_workers = trimmed_mean_declines,
       .make = [](const Options& options,
                  const RuleContext&) -> std::unique_ptr<AggregationRule> {
         return std::make_unique<TrimmedMean>(
             static_cast<std::size_t>(option<std::int64_t>(options, "trim")));
       }});
}

}  // namespace weft
