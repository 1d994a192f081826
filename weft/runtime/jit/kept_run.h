// The gradient of a staged function that branches, loops or calls itself: the
// forward run stays where it is, with all that its activations have computed,
// until the gradients of its results arrive and the same run goes on backward.
// So nothing is computed twice, and no stack of saved values is built. Where
// the gradient is differentiated in turn, the run goes on twice more.
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

// One run in phases (graph/phases.h): forward, backward, and with two orders
// those two backward.
class KeptRun {
 public:
  // Frees what was computed, if phases are left.
  ~KeptRun();
  KeptRun(const KeptRun&) = delete;
  KeptRun& operator=(const KeptRun&) = delete;

  // All results of the function.
  const std::vector<Tensor>& results() const { return results_; }
  // The phase that enter() runs, which is phase_count() once all have run.
  std::size_t next_phase() const { return next_phase_; }
  std::size_t phase_count() const { return 1 + seed_types_.size(); }
  // Phase n + i of 2n takes the gradients of the floating results of phase
  // n - 1 - i, in their order, and returns those of its arguments: of phase 0,
  // of the inputs in `wrt`. An undefined one is zeros, or a gradient that does
  // not flow. Throws what running throws.
  std::vector<Tensor> enter(std::span<const Tensor> seeds);

 private:
  friend class KeptRuns;
  KeptRun(std::shared_ptr<KeptRuns> runs, std::vector<TensorType> key);

  std::shared_ptr<KeptRuns> runs_;
  std::vector<TensorType> key_;
  std::vector<Tensor> results_;
  std::size_t next_phase_ = 1;
  std::vector<std::vector<TensorType>> seed_types_;  // by phase after the first
  std::vector<Tensor> gradients_;  // of all phases, as far as they are known
  std::unique_ptr<TaggedExecutor> executor_;
};

class KeptRuns : public std::enable_shared_from_this<KeptRuns> {
 public:
  // The first function of `graph`, whose first `outputs` results are
  // differentiated with respect to the parameters in `wrt`, in 2^order phases.
  // Throws Error(kUnsupported) for an op without a gradient.
  KeptRuns(const Graph& graph, std::size_t outputs,
           const std::vector<bool>& wrt, std::size_t order,
           TaggedOptions options);

  // Runs forward. Throws what running throws.
  std::shared_ptr<KeptRun> forward(std::span<const Tensor> arguments);

 private:
  friend class KeptRun;
  std::unique_ptr<TaggedExecutor> take(const std::vector<TensorType>& key);
  void give(const std::vector<TensorType>& key,
            std::unique_ptr<TaggedExecutor> executor);

  // Its first function takes the inputs, then the seeds of each phase; it
  // returns the results, then the gradients of each.
  Graph graph_;
  std::size_t inputs_;
  std::size_t results_;
  std::vector<std::size_t> seeds_;      // how many, by phase after the first
  std::vector<std::size_t> gradients_;  // likewise
  TaggedOptions options_;
  struct Idle {
    std::vector<TensorType> key;
    std::unique_ptr<TaggedExecutor> executor;
  };
  std::mutex mutex_;  // guards idle_
  std::vector<Idle> idle_;
};

}  // namespace weft
