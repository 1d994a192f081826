// Multi-Krum: the mean of the m gradients that are closest to others, so that
// more workers still mean less noise (Blanchard et al., "Machine Learning with
// Adversaries", NeurIPS 2017, section 5; with m = n - f - 2 as Damaskinos et
// al., "AggregaThor", MLSys 2019, prove and run it).
#include "weft/train/sync/krum.h"

namespace weft {
namespace {

std::optional<Refusal> multi_krum_declines(const Options& options,
                                           int workers) {
  if (auto refusal = needs_workers(options, workers, 2)) return refusal;
  const auto wrong = option<std::int64_t>(options, "f");
  const auto selected = option<std::int64_t>(options, "m");
  // Where nobody is wrong, all may be selected: that is the mean.
  const std::int64_t most = wrong == 0 ? workers : workers - wrong - 2;
  if (selected <= most) return std::nullopt;
  return Refusal{
      fmt::format("{} workers", workers),
      fmt::format("{} are to be selected, and with {} that may be wrong at "
                  "most n - f - 2 = {} can be",
                  selected, wrong, most),
      fmt::format("m = {}, or m = 0 for as many as can be", most)};
}

}  // namespace

void register_aggregation_rule_multi_krum(AggregationRuleRegistry& rules) {
  rules.add({.name = "multi_krum",
             .summary = "the mean of gradients that are closest to others",
             .options = {wrong_workers_option(),
                         {.name = "m",
                          .value = std::int64_t{0},
                          .summary = "whose mean it is; 0: n - f - 2",
                          .range = {.least = 0, .most = 1 << 20},
                          .unit = "workers"}},
             .declines_workers = multi_krum_declines,
             .make = [](const Options& options, const RuleContext& context)
                 -> std::unique_ptr<AggregationRule> {
               return make_multi_krum(context,
                                      option<std::int64_t>(options, "f"),
                                      option<std::int64_t>(options, "m"));
             }});
}

}  // namespace weft
