// Runs a graph whose functions call each other: every call is a fresh, nested
// run of the callee on the thread's stack (the InvokeOp of Jeong et al.,
// EuroSys 2018). Plain and slow; what other executors of control flow are
// compared with.
//
//   NestedCalls calls(program.build());
//   calls.run("fib", {{Tensor::scalar(10.f)}});
//
// Ops run one by one, with the kernels that plans use. A function is
// specialised once for each combination of argument types. Loops iterate;
// activations (graph/phases.h) are kept until their last phase has run, or
// until what entered them ends.
//
// Threads: one run at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/function.h"
#include "weft/tensor/tensor.h"

namespace weft::test {

struct NestedCallsOptions {
  // Calls and branches that may be inside each other. Each takes a kilobyte or
  // two of the stack.
  std::size_t max_depth = 2000;
};

class NestedCalls {
 public:
  // Throws what verify() throws.
  explicit NestedCalls(Graph graph, NestedCallsOptions options = {});
  ~NestedCalls();
  NestedCalls(NestedCalls&&) noexcept;

  // Throws Error(kInvalidArgument) for arguments that do not fit, and
  // Error(kExhausted) with the chain of calls where they nest too deep.
  std::vector<Tensor> run(std::string_view function,
                          std::span<const Tensor> arguments);

  // How often the last run began `function`; a branch counts by its own name.
  std::int64_t activations(std::string_view function) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::test
