// Runs the parts of a chunked step (compiler/chunks.h) in turn over a few
// examples of a batch at a time. Each thread takes chunks of its own through
// all parts, with kernels that compute on one thread, and meets the others at
// the end. Kernels were prepared for so many examples, and a second set for the
// rest of the batch; they are given other addresses for each chunk.
//
// Sums over the batch are added up chunk by chunk, in order, and then those of
// the threads; mean and variance by the formula of Chan, Golub and LeVeque
// (1979), in f64, which does not cancel. So the bits depend on the size of a
// chunk and on thread_count() when the kernel is made, and on nothing else.
//
// Threads: a PreparedKernel.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weft/compiler/steps.h"
#include "weft/graph/kernel.h"

namespace weft {

struct ChunkedKernel {
  // Buffers: the inputs and outputs of the step.
  std::unique_ptr<PreparedKernel> kernel;
  // (input, output) of the step: the output may lie where the input does.
  std::vector<std::pair<std::size_t, std::size_t>> overwrites;
};

// Throws Error(kUnsupported) if no kernel takes a part.
ChunkedKernel chunked_kernel(const Function& function, const PlanStep& step);

}  // namespace weft
