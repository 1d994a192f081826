// The kernel of a step: a loop, copies, parts in chunks of the batch, or the
// fastest kernel of its one node.
//
// Threads: safe from any.
#pragma once

#include <memory>
#include <optional>

#include "weft/compiler/readers.h"
#include "weft/compiler/steps.h"
#include "weft/graph/index_check.h"
#include "weft/runtime/plan/step_info.h"

namespace weft {

struct StepKernel {
  std::unique_ptr<PreparedKernel> kernel;
  StepInfo info;          // but for what the step reads
  bool in_place = false;  // what KernelCandidate::in_place says
  std::optional<IndexCheck> index_check;
};

// `readers` are those of the function. Throws Error(kUnsupported) if no kernel
// takes a node.
StepKernel prepare_kernel(const Function& function, const Readers& readers,
                          const PlanStep& step);

}  // namespace weft
