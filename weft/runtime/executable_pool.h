// One function for several threads: an executable runs one call at a time, so
// each call takes an idle one, and one more is made when all are busy.
//
// Threads: thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "weft/runtime/executable.h"

namespace weft {

class ExecutablePool {
 public:
  // Runs the first function of `graph`.
  ExecutablePool(Graph graph, ExecutableOptions options);

  const Graph& graph() const { return graph_; }
  const Function& function() const { return graph_.functions.front(); }

  // Runs as Executable::run_consuming() does. What runs meanwhile may call it
  // again.
  std::vector<Tensor> run(std::span<const Tensor> arguments);
  // Runs the same in each of `copies` executables, which then have their plans:
  // so many calls at once find one. Donated arguments are overwritten.
  void prepare(std::span<const Tensor> arguments, std::size_t copies);

 private:
  std::unique_ptr<Executable> take();

  Graph graph_;
  ExecutableOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Executable>> idle_;
};

}  // namespace weft
