// A function made ready to run op by op for arguments of certain types: what an
// executor of nested calls keeps of it.
//
// Threads: one run at a time, which may be inside another of the same function.
#pragma once

#include <memory>
#include <vector>

#include "weft/graph/kernel.h"
#include "weft/graph/phases.h"
#include "weft/tensor/tensor.h"

namespace weft::test {

class PreparedFunction {
 public:
  // `arguments` are those of the first phase; they must tell all sizes. Throws
  // Error(kInvalidArgument) if they do not fit, Error(kUnsupported) for sizes
  // that they do not tell.
  PreparedFunction(const Function& general, const Phases& phases,
                   std::span<const Tensor> arguments);

  // Whether it is what these would make.
  bool fits(const Phases& phases, std::span<const Tensor> arguments) const;

  // It is specialised and simplified.
  const Function& function() const { return function_; }
  const Phases& phases() const { return phases_; }
  // What a phase has to run after those before it, in order.
  const std::vector<NodeId>& schedule(std::size_t phase) const {
    return schedule_[phase];
  }
  // Runs a node that is no control flow.
  std::vector<Tensor> run_kernel(NodeId id, std::span<const Tensor> inputs);

 private:
  struct Step {
    std::unique_ptr<PreparedKernel> kernel;  // null for control flow
    std::vector<TensorType> outputs;
    Tensor scratch;
    bool meets_others = false;
  };

  Step step_of(const Node& node) const;
  void schedule_phases();

  std::vector<TensorType> arguments_;  // what the first phase takes
  Phases phases_;
  Function function_;
  std::vector<std::vector<NodeId>> schedule_;
  std::vector<Step> steps_;
};

}  // namespace weft::test
