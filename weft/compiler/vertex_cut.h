// The cheapest border between the first nodes of a graph and the last ones: a
// minimum vertex cut, by maximum flow over split nodes (Ford and Fulkerson,
// 1956; the search for paths is that of Dinic, 1970).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

struct VertexCut {
  std::vector<int> nodes;      // that are cut, in ascending order
  std::vector<bool> is_upper;  // by node; the cut ones are
  std::int64_t capacity = 0;   // their sum
};

struct CutGraph {
  // Edges from each node to its successors.
  std::vector<std::vector<int>> successors;
  // What it costs to cut at a node; kNever: it is not cut.
  std::vector<std::int64_t> capacities;
  static constexpr std::int64_t kNever = std::int64_t{1} << 40;
  // The nodes that a path begins and ends with. Both may be cut.
  std::vector<int> sources, sinks;
};

// What leads to an upper node is upper, and what leads from one to another node
// is cut: the capacity is the smallest of all that hold to this. Of cuts of one
// capacity, the one next to the sources. With an endless path, on which no node
// may be cut, all nodes are upper and `capacity` is kNever or more.
VertexCut min_vertex_cut(const CutGraph& graph);

}  // namespace weft
