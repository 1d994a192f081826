// Where values of a flat graph come from and go to in the end: through
// Switches, Merges, Calls, parameters and Returns, which only pass them on.
//
// Threads: immutable once built; share freely.
#pragma once

#include <vector>

#include "weft/compiler/flat/flat_graph.h"

namespace weft {

class Flow {
 public:
  // Good as long as the graph, which may also be a draft.
  explicit Flow(const FlatGraph& graph);

  // Who reads a value: a region, or the entry, as its results.
  struct Reader {
    int region = -1;  // node
    int result = -1;  // which the entry returns
  };
  // Who reads any output of a node; a reader that several ways lead to is
  // listed several times.
  std::vector<Reader> readers_of(int node) const;
  // The nodes that a value is made by: regions, arguments of the entry.
  std::vector<int> sources_of(Endpoint value) const;

 private:
  const FlatGraph& graph_;
  std::vector<std::vector<int>> readers_;     // by node, of any of its outputs
  std::vector<std::vector<int>> parameters_;  // nodes by body and index
};

}  // namespace weft
