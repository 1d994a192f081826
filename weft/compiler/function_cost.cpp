#include "weft/compiler/function_cost.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/base/cpu.h"
#include "weft/compiler/frozen.h"
#include "weft/compiler/places.h"

namespace weft {
namespace {

// Follows a run through its steps, and says of operands how many bytes were
// moved since they were touched.
class Reuse {
 public:
  Reuse(const Function& function, std::size_t first_frozen, double bytes_of_run)
      : function_(function), bytes_of_run_(bytes_of_run) {
    const std::vector<ValueId>& parameters = function.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      // Arguments were just written. What is frozen was read in the run before.
      const bool is_known = i >= first_frozen;
      touched_[parameters[i]] = is_known ? -bytes_of_run_ : 0;
      if (is_known) known_.insert(parameters[i]);
    }
  }

  std::vector<OperandState> states_of(const PlanStep& step) {
    static const double cache = static_cast<double>(last_level_cache_bytes());
    std::vector<OperandState> states;
    for (const ValueId id : step.inputs) {
      const ValueId storage = storage_of(function_, id);
      const auto found = touched_.find(storage);
      // Constants lie as far back as parameters.
      const double since =
          moved_ - (found == touched_.end() ? -bytes_of_run_ : found->second);
      states.push_back({.is_cold = cache > 0 && 2 * since > cache,
                        .is_known = known_.contains(id)});
    }
    moved_ += moved_bytes(function_, step);
    for (const ValueId id : step.inputs) {
      touched_[storage_of(function_, id)] = moved_;
    }
    for (const ValueId id : step.outputs) {
      touched_[storage_of(function_, id)] = moved_;
    }
    return states;
  }

 private:
  const Function& function_;
  double bytes_of_run_;
  double moved_ = 0;
  std::unordered_map<ValueId, double> touched_;
  std::unordered_set<ValueId> known_;
};

}  // namespace

FunctionCost FunctionCosts::cost(const Function& function,
                                 const std::vector<bool>& is_frozen) {
  const Function rest = split_frozen(function, is_frozen).rest;
  const auto first_frozen =
      static_cast<std::size_t>(std::ranges::count(is_frozen, false));
  const Function planned =
      run_passes(specialize(rest, options_.dims), options_.passes);
  std::vector<PlanStep> steps = form_steps(planned, /*fuse=*/true);
  const Storage storage(planned, steps, {});
  double moved = 0;
  for (const PlanStep& step : steps) moved += moved_bytes(planned, step);
  Reuse reuse(planned, first_frozen, std::max(moved, options_.bytes_of_run));
  FunctionCost cost;
  for (const PlanStep& step : steps) {
    cost.total += table_.cost(planned, step, reuse.states_of(step));
  }
  cost.arena_bytes = Places(planned, steps, storage, {}, [](auto&&...) {
                       return false;
                     }).arena_bytes();
  return cost;
}

}  // namespace weft
