#include "weft/compiler/function_cost.h"

#include <algorithm>
#include <unordered_map>

#include "weft/base/cpu.h"
#include "weft/compiler/chunks.h"
#include "weft/compiler/frozen.h"
#include "weft/compiler/places.h"
#include "weft/compiler/step_bytes.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// Follows a run through its steps, and says of operands how many bytes were
// moved since they were touched.
class Reuse {
 public:
  Reuse(const Function& function, double bytes_of_run)
      : function_(function), bytes_of_run_(bytes_of_run) {
    // Arguments were just written. What is constant was read in the run before.
    for (const ValueId id : function.parameters()) touched_[id] = 0;
  }

  std::vector<OperandState> states_of(const PlanStep& step) {
    static const double cache = static_cast<double>(last_level_cache_bytes());
    std::vector<OperandState> states;
    for (const ValueId id : step.inputs) {
      const ValueId storage = storage_of(function_, id);
      const auto found = touched_.find(storage);
      const double since =
          moved_ - (found == touched_.end() ? -bytes_of_run_ : found->second);
      states.push_back({.is_cold = cache > 0 && 2 * since > cache,
                        .is_known = is_constant(id)});
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
  bool is_constant(ValueId id) const {
    return !function_.is_parameter(id) &&
           *function_.node(function_.value(id).node).op == known::constant;
  }

  const Function& function_;
  double bytes_of_run_;
  double moved_ = 0;
  std::unordered_map<ValueId, double> touched_;
};

}  // namespace

FunctionCost FunctionCosts::cost(const Function& function,
                                 const std::vector<bool>& is_frozen) {
  const Function rest = split_frozen(function, is_frozen).rest;
  const auto first_frozen =
      static_cast<std::size_t>(std::ranges::count(is_frozen, false));
  // A plan has constants there: cells of recurrent layers are found by them,
  // and kernels pack them once.
  PassOptions passes = options_.passes;
  passes.without = passes_without(passes.without, options_.batch_norm);
  const Function planned = run_passes(
      in_form(stand_ins_.put(specialize(rest, options_.dims), first_frozen),
              options_.batch_norm),
      passes);
  std::vector<PlanStep> steps = chunk_steps(
      planned, form_steps(planned, /*fuse=*/true), options_.batch_norm);
  const Storage storage(planned, steps, {});
  double moved = 0;
  for (const PlanStep& step : steps) moved += moved_bytes(planned, step);
  Reuse reuse(planned, std::max(moved, options_.bytes_of_run));
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
