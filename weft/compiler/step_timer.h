// How long a step of a plan takes on this machine.
//
// Threads: one measures at a time, as kernels use all threads.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/steps.h"

namespace weft {

// What a step does, whatever its values are called: equal texts are equal work
// on this many threads. `is_cold` says of each operand of the step whether it
// comes from memory rather than from a cache.
std::string step_text(const Function& function, const PlanStep& step,
                      const std::vector<bool>& is_cold);

struct MeasuredTime {
  double median;  // seconds
  double least;
};

// Prepares the step, as a plan would, and runs it on operands of its types for
// some milliseconds. Cold operands are other ones in each run, as many as
// outgrow the last-level cache. Throws Error(kUnsupported) where no kernel
// takes the step.
MeasuredTime time_step(const Function& function, const PlanStep& step,
                       const std::vector<bool>& is_cold);

}  // namespace weft
