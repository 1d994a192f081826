// How long the steps of a plan take.
//
// Threads: as Plan.
#pragma once

#include <span>
#include <vector>

#include "weft/runtime/plan/plan.h"
#include "weft/tensor/tensor.h"

namespace weft {

// Seconds of each step: the shortest of some runs, after one to warm up, as
// what else the machine does only makes a run longer. The runs read and write
// what any run would.
std::vector<double> time_steps(Plan& plan, std::span<const Tensor> arguments,
                               std::span<const Tensor> results);

}  // namespace weft
