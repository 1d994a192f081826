// Aggregation rules: what one makes of the contributions of n workers. The mean
// trusts all of them; others bear some that are wrong.
//
// Some rules look at each entry by itself, and make something of a bucket as
// soon as it is there: combine() is all they do. Others choose among workers by
// their whole gradients, which are in many buckets, and those perhaps with many
// servers. They measure each bucket, and decide by the sums of these numbers
// over all buckets before anything is combined.
//
// [sync] rule = "trimmed_mean(1)" names one with its options. It stands where
// each contribution is at hand by itself: in a server, or after an all-gather.
// A new one is one file in sync/aggregation; rule_run.h runs it.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/refusal.h"
#include "weft/tensor/tensor.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/metrics.h"

namespace weft {

// What one worker has sent for a bucket: its gradient over the number of
// workers, so that the sum of all is their mean.
struct Contribution {
  int rank = 0;
  std::span<const float> values;
};

// A bucket, as a rule sees it.
struct RulePart {
  std::uint32_t bucket = 0;  // its number
  // Those that came, in the order of ranks: at least one, all of one length.
  // Values may be infinite or NaN.
  std::span<const Contribution> arrived;
  // That the gradients are of, laid out as the bucket; empty unless the rule
  // reads_parameters().
  std::span<const float> parameters = {};
  // What slots() asks for, rows as long as the bucket.
  std::span<const Tensor> slots = {};
};

// What there is to decide by.
struct RuleStep {
  std::int64_t number = 0;  // of the step, from 0
  // What measure() made of all buckets, added in their order.
  std::span<const double> sums = {};
  std::span<const Tensor> slots = {};  // what shared_slots() asks for
};

// What a rule keeps from step to step, zero at first.
struct RuleSlot {
  std::string name;
  DType dtype = DType::kF64;
  std::int64_t size = 1;  // of a shared one
};

// How a rule decided, for the log; kNotMeasured where that says nothing.
struct RuleFigures {
  double selected = kNotMeasured;  // workers whose gradients count
  // The largest of what the rule holds against one of them, over what it would
  // bear.
  double margin = kNotMeasured;
};

// What a rule is made for.
struct RuleContext {
  int workers = 1;
  std::uint64_t seed = 1;  // the same at all ranks
};

class AggregationRule {
 public:
  virtual ~AggregationRule() = default;
  // Writes what stands for the sum of those that arrived. Deterministic.
  virtual void combine(const RulePart& part, std::span<float> result) = 0;

  // All that follows is for rules that look at whole gradients.
  //
  // How many numbers measure() makes of a bucket: the same for all. 0: the rule
  // looks at each entry by itself, and nothing else is called.
  virtual std::size_t measures() const { return 0; }
  // Writes them to `numbers`, which are zero. Called for each bucket in each
  // step, before decide(), and again where that asks for it.
  virtual void measure(const RulePart& /*part*/,
                       std::span<double> /*numbers*/) {}
  // Decides what combine() does with the buckets of this step; false: what it
  // wants to be measured next is something else. All that combine call it with
  // the same numbers.
  virtual bool decide(const RuleStep& /*step*/) { return true; }
  virtual bool reads_parameters() const { return false; }
  // Kept for each bucket, and once; they are in checkpoints.
  virtual std::vector<RuleSlot> slots() const { return {}; }
  virtual std::vector<RuleSlot> shared_slots() const { return {}; }
  // Called when slots are those of a checkpoint: throws Error if it cannot go
  // on with them.
  virtual void restored(std::span<const Tensor> /*shared_slots*/) {}
  virtual RuleFigures figures() const { return {}; }
};

struct AggregationRuleDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // In what follows, `options` are complete.
  //
  // Why it makes no sense by other keys of [sync]; null: it always does.
  std::optional<Refusal> (*declines)(const Options& options,
                                     const SyncRecipe& recipe) = nullptr;
  // Why it cannot work with so many workers; null: it always can.
  std::optional<Refusal> (*declines_workers)(const Options& options,
                                             int workers) = nullptr;
  // Null: contributions are added as they come, and nothing is made of them.
  std::unique_ptr<AggregationRule> (*make)(
      const Options& options, const RuleContext& context) = nullptr;
};

using AggregationRuleRegistry = Registry<AggregationRuleDef>;

// It is filled from the files of weft/train/sync/aggregation.
const AggregationRuleRegistry& aggregation_rule_registry();

// The one that a recipe names. Throws Error(kInvalidArgument) with the nearest
// name, or what is wrong with an option.
Call<AggregationRuleDef> rule_of(const SyncRecipe& recipe);
// Whether that is the mean, so that contributions may be added as they come.
bool is_mean(const SyncRecipe& recipe);
// Whether no bucket is over before all of its step are measured.
bool looks_at_whole_gradients(const SyncRecipe& recipe);
// Null for the mean.
std::unique_ptr<AggregationRule> make_rule(const SyncRecipe& recipe,
                                           const RuleContext& context);

}  // namespace weft
