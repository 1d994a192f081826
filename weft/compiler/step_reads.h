// What the steps of a plan wait for: arguments, and each other.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/compiler/steps.h"

namespace weft {

struct StepReads {
  // Each once, in ascending order.
  std::vector<std::size_t> arguments;
  std::vector<std::size_t> predecessors;  // steps before this one
};

// One for each of `steps`, which are those of `function`.
std::vector<StepReads> reads_of(const Function& function,
                                std::span<const PlanStep> steps);

}  // namespace weft
