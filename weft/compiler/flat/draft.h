// The flat graph before its regions are formed: a region node is a single op.
//
// Threads: caller synchronises.
#pragma once

#include <deque>

#include "weft/compiler/flat/flat_graph.h"

namespace weft {

struct Draft {
  FlatGraph graph;                 // without regions
  std::vector<const Node*> ops;    // what `region` of a region node counts
  std::vector<int> ranks;          // that compute them, or less than 0
  std::vector<Endpoint> markers;   // by node: what its branch is marked by
  std::deque<Function> functions;  // that own the ops
  // Whether ops read a parameter where it lies, by node; it is then passed only
  // if something else needs it.
  std::vector<bool> is_in_place;

  // A node in the branch that `marker` marks; returns its number.
  int add(FlatNode node, Endpoint marker);
};

// Makes ops read the arguments of the entry in place where all calls pass them
// on unchanged, and sets is_in_place.
void read_arguments_in_place(Draft& draft);

// A result that a recursion only ever adds up, such as the gradient of a
// parameter that every activation uses, becomes an accumulator: it belongs to
// the outermost activation, all within add to it, and it is complete when they
// are done. Without, each activation adds and returns a tensor of its own; that
// costs little for small ones, and is left so where calls can run side by side:
// an accumulator keeps them to one worker.
void accumulate_sums(Draft& draft);

// Whether an op multiplies matrices, so that many activations are run at once
// (batcher.h).
bool is_product(const Node& op);

// Gathers ops into regions. A region waits for all its inputs, so it may only
// hold ops that need the same ones, or whose results nothing else waits for:
// then no call begins later than it could. Leaves out what no result and no
// call needs.
FlatGraph form_regions(const Draft& draft);

}  // namespace weft
