// The kernel of a step: a loop, copies, parts in chunks of the batch, or the
// fastest kernel of its one node.
//
// Threads: safe from any.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weft/compiler/readers.h"
#include "weft/compiler/steps.h"
#include "weft/graph/index_check.h"
#include "weft/runtime/plan/step_info.h"

namespace weft {

struct StepKernel {
  std::unique_ptr<PreparedKernel> kernel;
  StepInfo info;  // but for what the step reads
  // (input, output) of the step: the output may lie where the input does.
  std::vector<std::pair<std::size_t, std::size_t>> overwrites;
  std::optional<IndexCheck> index_check;
};

// `readers` are those of the function. Throws Error(kUnsupported) if no kernel
// takes a node.
StepKernel prepare_kernel(const Function& function, const Readers& readers,
                          const PlanStep& step);

}  // namespace weft
