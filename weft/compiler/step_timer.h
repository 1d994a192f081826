// How long a step of a plan takes on this machine.
//
// Threads: one measures at a time, as kernels use all threads.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/steps.h"

namespace weft {

// How an operand of a step comes to it.
struct OperandState {
  bool is_cold = false;   // from memory rather than from a cache
  bool is_known = false;  // the same in every run: kernels may pack it once

  bool operator==(const OperandState&) const = default;
};

// What a step does, whatever its values are called: equal texts are equal work
// on this many threads. `states` has an entry for each operand of the step.
std::string step_text(const Function& function, const PlanStep& step,
                      const std::vector<OperandState>& states);

struct MeasuredTime {
  double median;  // seconds
  double least;
};

// Prepares the step, as a plan would, and runs it on operands of its types for
// some milliseconds. What is cold is evicted from the caches before each run,
// or they are swept where that cannot be told, and what is warm is read again.
// Throws Error(kUnsupported) where no kernel takes the step.
MeasuredTime time_step(const Function& function, const PlanStep& step,
                       const std::vector<OperandState>& states);

}  // namespace weft
