// Aggregation rules: what one makes of the contributions of n workers, entry by
// entry or as a whole. The mean trusts all of them; others bear some that are
// wrong.
//
// [sync] rule = "trimmed_mean(1)" names one with its options. It stands where
// each contribution is at hand by itself: in a server, or after an all-gather.
// A new one is one file in sync/aggregation.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/refusal.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// What one worker has sent for a bucket.
struct Contribution {
  int rank = 0;
  std::span<const float> values;
};

class AggregationRule {
 public:
  virtual ~AggregationRule() = default;
  // Writes what stands for the mean of `arrived`, which are those that came, in
  // the order of ranks: at least one, all as long as `result`. Values may be
  // infinite or NaN. Deterministic.
  virtual void combine(std::span<const Contribution> arrived,
                       std::span<float> result) = 0;
};

struct AggregationRuleDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // Why it cannot work with so many workers; null: it always can. `options` are
  // complete.
  std::optional<Refusal> (*declines)(const Options& options,
                                     int workers) = nullptr;
  std::unique_ptr<AggregationRule> (*make)(const Options& options) = nullptr;
};

using AggregationRuleRegistry = Registry<AggregationRuleDef>;

// It is filled from the files of weft/train/sync/aggregation.
const AggregationRuleRegistry& aggregation_rule_registry();

// The one that a recipe names. Throws Error(kInvalidArgument) with the nearest
// name, or what is wrong with an option.
Call<AggregationRuleDef> rule_of(const SyncRecipe& recipe);
// Whether that is the mean, so that contributions may be added as they come.
bool is_mean(const SyncRecipe& recipe);
// Null for the mean.
std::unique_ptr<AggregationRule> make_rule(const SyncRecipe& recipe);

// What the rule makes of those that arrived, times their number: contributions
// are scaled so that their sum is what is wanted.
void combine_as_sum(AggregationRule& rule,
                    std::span<const Contribution> arrived,
                    std::span<float> result);

}  // namespace weft
