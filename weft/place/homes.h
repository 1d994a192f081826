// Says on which rank each value of a placed flat graph is. Regions say so
// themselves; what only passes values on is free, but for Calls and Returns,
// which move a value between two activations of one rank.
//
// A parameter or a Merge goes where most of those are that read it in the end,
// so that what a function computes on one rank for itself stays there through
// all calls of a recursion. A Switch stays with its data: only what enters the
// branch that is taken travels.
//
// Threads: immutable once built; share freely.
#pragma once

#include "weft/compiler/flat/flat_graph.h"
#include "weft/compiler/flat/flow.h"
#include "weft/place/placement.h"

namespace weft {

class Homes {
 public:
  Homes(const FlatGraph& graph, const RankPlacement& placement);

  // RankPlacement::kEverywhere for an argument of the entry that all ranks
  // have, and for a Call that carries no argument.
  int of(int node) const { return homes_[static_cast<std::size_t>(node)]; }

 private:
  enum class State : std::uint8_t { kUnknown, kAsked, kKnown };

  int resolve(int node);
  int choose(int node);
  int most_read_on(int node) const;

  const FlatGraph& graph_;
  const RankPlacement& placement_;
  Flow flow_;
  std::vector<State> states_;
  std::vector<int> homes_;
};

// The parameter of its callee that a Call with an argument is for.
int parameter_of(const FlatGraph& graph, const FlatNode& call);

}  // namespace weft
