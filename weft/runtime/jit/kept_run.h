// The gradient of a staged function that branches, loops or calls itself: the
// forward run stays where it is, with all that its activations have computed,
// until the gradients of its results arrive and the same run goes on backward.
// So nothing is computed twice, and no stack of saved values is built.
//
// A run that is kept holds its executor; another call takes or makes another
// one, and executors of runs that have ended are used again.
//
// Threads: the pool is thread-safe; a KeptRun belongs to one thread at a time.
// Source:  the joint functions of graph/phases.h, entered by the host.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "weft/graph/function.h"
#include "weft/runtime/tagged/executor.h"

namespace weft {

class KeptRuns;

// One forward run, and its backward run still to come.
class KeptRun {
 public:
  // Frees what the forward run computed, if nobody went backward.
  ~KeptRun();
  KeptRun(const KeptRun&) = delete;
  KeptRun& operator=(const KeptRun&) = delete;

  // All results of the function.
  const std::vector<Tensor>& results() const { return results_; }
  // False once backward() has run.
  bool is_kept() const { return executor_ != nullptr; }
  // The gradients of the inputs in `wrt`, given those of the floating results
  // among the first `outputs`, in their order; an undefined one is zeros.
  // Throws what running throws.
  std::vector<Tensor> backward(std::span<const Tensor> seeds);

 private:
  friend class KeptRuns;
  KeptRun(std::shared_ptr<KeptRuns> runs, std::vector<TensorType> key);

  std::shared_ptr<KeptRuns> runs_;
  std::vector<TensorType> key_;
  std::vector<Tensor> results_;
  std::vector<TensorType> seed_types_;
  std::unique_ptr<TaggedExecutor> executor_;
};

class KeptRuns : public std::enable_shared_from_this<KeptRuns> {
 public:
  // The first function of `graph`, whose first `outputs` results are
  // differentiated with respect to the parameters in `wrt`. Throws
  // Error(kUnsupported) for an op without a gradient.
  KeptRuns(const Graph& graph, std::size_t outputs,
           const std::vector<bool>& wrt, TaggedOptions options);

  // Runs forward. Throws what running throws.
  std::shared_ptr<KeptRun> forward(std::span<const Tensor> arguments);

 private:
  friend class KeptRun;
  std::unique_ptr<TaggedExecutor> take(const std::vector<TensorType>& key);
  void give(const std::vector<TensorType>& key,
            std::unique_ptr<TaggedExecutor> executor);

  Graph graph_;  // whose first function takes the inputs, then the seeds
  std::size_t inputs_;
  std::size_t results_;
  TaggedOptions options_;
  struct Idle {
    std::vector<TensorType> key;
    std::unique_ptr<TaggedExecutor> executor;
  };
  std::mutex mutex_;  // guards idle_
  std::vector<Idle> idle_;
};

}  // namespace weft
