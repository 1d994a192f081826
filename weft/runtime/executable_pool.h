// One function for several threads: an executable runs one call at a time, so
// each call takes an idle one, and one more is made when all are busy.
//
// Threads: thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "weft/runtime/executable.h"

namespace weft {

class ExecutablePool {
 public:
  // Runs the first function of `graph`. One that branches, loops or calls can
  // donate nothing.
  ExecutablePool(Graph graph, ExecutableOptions options);

  const Graph& graph() const { return graph_; }
  const Function& function() const { return graph_.functions.front(); }

  // As Executable::run(). What runs meanwhile may call it again.
  std::vector<Tensor> run(std::span<const Tensor> arguments);

 private:
  using Run = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  Run take();
  Run make() const;

  Graph graph_;
  ExecutableOptions options_;
  std::mutex mutex_;
  std::vector<Run> idle_;
};

}  // namespace weft
