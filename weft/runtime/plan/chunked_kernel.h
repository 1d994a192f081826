// Runs the parts of a chunked step (compiler/chunks.h) in turn over a few
// examples of a batch at a time. Their kernels were prepared for so many
// examples, and a second set for the rest of the batch; they are given other
// addresses for each chunk.
//
// Sums over the batch are added up chunk by chunk, in order; mean and variance
// by the formula of Chan, Golub and LeVeque (1979), in f64, which does not
// cancel. So the bits depend on the size of a chunk, and on nothing else.
//
// Threads: a PreparedKernel; the kernels of the parts use parallel_for.
#pragma once

#include <functional>
#include <memory>

#include "weft/compiler/batch_roles.h"
#include "weft/graph/kernel.h"

namespace weft {

// A kernel for a part of the step and so many examples.
using PreparePart = std::function<std::unique_ptr<PreparedKernel>(
    const PlanStep& part, const BatchRoles& roles, Dim examples)>;

// Buffers: the inputs and outputs of the step.
std::unique_ptr<PreparedKernel> chunked_kernel(const Function& function,
                                               const PlanStep& step,
                                               const PreparePart& prepare);

}  // namespace weft
