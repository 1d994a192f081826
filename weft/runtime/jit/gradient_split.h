// The gradient of a staged function, cut in two: a forward function that also
// returns what the backward function reads, and the backward function. So
// nothing is computed twice, and nothing is kept that no gradient needs.
//
// What costs nothing (constants, views) is made again instead of being saved.
//
// Threads: immutable once built; share freely.
// Source:  the tape of TensorFlow Eager (Agrawal et al., 2019, section 4.2).
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

class GradientSplit {
 public:
  // Splits the gradient of the first `outputs` results of a function without
  // control flow (the others are only returned), with respect to the parameters
  // marked in `wrt`. `order` is how often the result will be differentiated:
  // the gradient of a gradient reads more of the forward values. Throws
  // Error(kUnsupported) for an op without a gradient.
  GradientSplit(const Function& function, std::size_t outputs,
                std::vector<bool> wrt, std::size_t order);

  // (parameters) -> (results, saved).
  const Function& forward() const { return forward_; }
  std::size_t saved_count() const { return saved_.size(); }

  // (parameters, outputs, saved, gradients that arrived) -> gradients of the
  // parameters in `wrt`. `arrived` marks those of the outputs, then of what is
  // saved, that have a gradient.
  Function backward(const std::vector<bool>& arrived) const;

 private:
  struct Joint;
  Joint joint(const std::vector<bool>& arrived) const;
  std::vector<ValueId> needed(const Joint& joint) const;
  // The ids of the outputs, then of what is saved.
  std::vector<ValueId> differentiable() const;

  Function function_;  // lowered; its parameters come first
  std::size_t outputs_;
  std::vector<bool> wrt_;
  std::vector<ValueId> saved_;
  Function forward_;
};

// A function that branches, loops or calls itself cannot be cut in two, but its
// run can (kept_run.h). Where its backward function has to be a graph, because
// the gradient is differentiated, this makes of the first function of `graph`,
// with its gradient, one function of the same parameters and results as
// GradientSplit::backward() has, with nothing saved. It computes the forward
// values again.
Graph backward_with_forward(const Graph& graph, std::size_t outputs,
                            const std::vector<bool>& wrt,
                            const std::vector<bool>& arrived);

}  // namespace weft
