// Joint functions: a function and its gradient in one body, to be run in
// phases (graph/phases.h).
//
// Threads: as Program.
#pragma once

#include "weft/graph/phases.h"
#include "weft/graph/program.h"

namespace weft {

// What a call runs: a function, in one phase or in several.
struct PhasedFunction {
  FunctionRef function;
  Phases phases;
};

// The positions among `count` types from `first` that gradients flow to.
std::vector<std::size_t> differentiable(const std::vector<TensorType>& types,
                                        std::size_t first, std::size_t count);

// The joint of `from`, which has n phases, with 2n: phase n + i takes the
// gradients of the floating results of phase n - 1 - i, and returns those of
// the floating arguments of that phase. Made once for each function of the
// program, and declared before its body is built, so recursion finds it.
PhasedFunction joint_of(Program& program, const PhasedFunction& from);

}  // namespace weft
