// Steps of a plan of which some run more than once: what a step makes again is
// another value, and who reads it then reads the later one.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "weft/compiler/steps.h"

namespace weft {

// Positions among the steps of a plan, in the order in which they run. Each is
// there at least once, behind the first run of what it reads.
using StepOrder = std::vector<std::size_t>;

struct RepeatedSteps {
  Function function;
  std::vector<PlanStep> steps;  // one for each entry of the order
};

// The function with the nodes of all runs, and these as steps. A step reads
// what was made last before it. What the function returns is that of the first
// run. `steps` are those of form_steps(). Takes time in proportion to the
// nodes of all runs.
RepeatedSteps repeat_steps(const Function& function,
                           const std::vector<PlanStep>& steps,
                           const StepOrder& order);

}  // namespace weft
