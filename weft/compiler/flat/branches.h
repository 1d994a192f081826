// Says on which side of which branches each value of a flat graph lies.
//
// Threads: immutable once built; share freely.
#pragma once

#include <map>

#include "weft/compiler/flat/flat_graph.h"

namespace weft {

// One side of a branch: what exists where `predicate` is true (side 0) or
// false (side 1).
struct BranchSide {
  int outer = -1;  // the branch that it is part of
  Endpoint predicate = {};
  int side = 0;
  auto operator<=>(const BranchSide&) const = default;
};

class Branches {
 public:
  // Throws Error(kInternal) that prints the offending node if the inputs of a
  // node lie on different branches, a Merge joins other than the two sides of
  // one, or a value depends on itself within one activation.
  explicit Branches(const FlatGraph& graph);

  // The branch of a value, or of what a node without outputs waits for; -1 if
  // it exists in every activation.
  int of(Endpoint value) const { return of_.at(value); }
  const BranchSide& operator[](int branch) const {
    return branches_[static_cast<std::size_t>(branch)];
  }

 private:
  std::vector<Endpoint> antecedents(int id) const;
  void place(int id);
  int intern(const BranchSide& branch);
  int common(int id, int a, int b) const;

  const FlatGraph& graph_;
  std::vector<BranchSide> branches_;
  std::map<Endpoint, int> of_;
};

// Throws Error(kInternal) about a node of the graph.
[[noreturn]] void fail_verification(const FlatGraph& graph, int node,
                                    const std::string& message);

}  // namespace weft
