// Undirected graphs as rows of neighbours in ascending order (compressed sparse
// rows).
//
// Threads: immutable; share freely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::concurrent {

using Vertex = std::uint32_t;

struct Edge {
  Vertex a;
  Vertex b;
};

class Graph {
 public:
  // Both ends see the edge. Edges from a vertex to itself are left out, double
  // ones stay. Throws Error(kInvalidArgument) for an end that is not below
  // `vertices`.
  Graph(Vertex vertices, std::span<const Edge> edges);

  Vertex vertices() const { return static_cast<Vertex>(begin_.size() - 1); }
  // Twice the number of edges.
  std::size_t arcs() const { return neighbours_.size(); }

  std::span<const Vertex> neighbours(Vertex v) const {
    return std::span(neighbours_).subspan(begin_[v], begin_[v + 1] - begin_[v]);
  }

  // The same graph with vertex v named new_name[v], a permutation.
  // O(vertices + arcs).
  Graph renamed(std::span<const Vertex> new_name) const;

 private:
  Graph() = default;

  std::vector<std::size_t> begin_;
  std::vector<Vertex> neighbours_;
};

// `count` edges between ends drawn uniformly, a function of the arguments
// alone; a few are double. `vertices` is at least 2.
std::vector<Edge> random_edges(Vertex vertices, std::size_t count,
                               std::uint64_t seed);

}  // namespace weft::concurrent
