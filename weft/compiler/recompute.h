// Fits a plan into a given memory: what would be kept for long is computed a
// second time right before it is read, where that costs the least time.
//
// Two orders of the steps are made, and the faster one that fits is taken:
// - the optimum of a chain (chain_order.h), if the steps are one;
// - a greedy one: where the most memory is taken, the value is given up whose
//   computing again, with what that needs, takes the least time for a byte;
//   and so on until the limit is met or nothing helps any more.
// From both, runs are left out again that turn out not to be needed.
// Steps that run again are the same steps on the same operands, so that every
// result keeps its bits.
//
// Threads: pure functions.
// Source:  Chen, Xu, Zhang and Guestrin, "Training deep nets with sublinear
//          memory cost", 2016; checkpoint_chain.h; the greedy choice is that of
//          Kirisame et al., "Dynamic tensor rematerialization", 2021, made
//          before anything runs.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "weft/compiler/places.h"
#include "weft/compiler/recompute_report.h"
#include "weft/compiler/repeated_steps.h"

namespace weft {

struct RecomputeOptions {
  std::size_t limit = 0;    // bytes of the arena
  std::size_t scratch = 0;  // of these, what steps need beside their values
  std::vector<std::pair<std::size_t, std::size_t>> donated = {};
  CanOverwrite can_overwrite;
  // How long a step takes; it is asked only if there is something to decide.
  std::function<double(std::size_t step)> seconds;
};

struct Recomputed {
  RepeatedSteps steps;
  RecomputeReport report;
};

// `steps` are those of form_steps(). Nothing if they keep within the limit as
// they are. Throws Error(kExhausted) with the least that was reached where no
// order does. The same times give the same order.
std::optional<Recomputed> recompute(const Function& function,
                                    const std::vector<PlanStep>& steps,
                                    const RecomputeOptions& options);

}  // namespace weft
