// The gradient of ops that run functions.
//
// A call and its re-entries are a chain. When the walk of reverse mode first
// meets one of a chain's nodes, the function that they run, of n phases, gives
// way to its joint, of 2n; then, for each of the nodes that a gradient arrives
// at, last phase first, the activation is entered again for the gradient. A
// plain call is a chain of one node. Loops are calls of their recursive form.
//
// Threads: as FunctionBuilder.
#pragma once

#include <map>

#include "weft/autodiff/joint.h"
#include "weft/autodiff/reverse.h"
#include "weft/graph/gradient.h"

namespace weft {

// The rule for one walk over the nodes of `builder`.
class ControlGradient {
 public:
  // The builder must outlive this, and is what nodes are added to.
  explicit ControlGradient(FunctionBuilder& builder);

  // The gradients of a node's operands, undefined where none flows. Throws
  // Error(kUnsupported) where the node enters an activation that was left in
  // another function.
  Gradients operator()(const GradientContext& g);

 private:
  struct Chain {
    std::vector<NodeId> nodes;           // the enter, then the re-entries
    Value predicate;                     // a branch has one
    std::vector<FunctionRef> functions;  // one, or those of the two branches
    std::size_t primal_phases = 0;       // that the joint differentiates
    Phases phases;                       // the joint has these
    // What has been run so far.
    std::size_t next_phase = 0;
    Value activation;
    std::vector<Value> arguments;
  };

  Chain& chain_of(NodeId node);
  Chain start(NodeId enter);
  // Gives a node the joint in place of what it ran.
  void replace(Chain& chain, std::size_t phase);
  // Runs the next phase. Arguments that are undefined become zeros.
  std::vector<Value> enter_next(Chain& chain, std::vector<Value> arguments);
  std::vector<Value> skip_next(Chain& chain);

  FunctionBuilder& builder_;
  std::map<ValueId, NodeId> reentries_;  // by the activation that they enter
  std::map<NodeId, Chain> chains_;       // by the enter
};

}  // namespace weft
