// Makes a smaller graph that looks like a large one: the ends of the edges of a
// maximal matching become one vertex each. Placement and partitioning search
// the small graph, and their answer is carried back.
//
//   const Coarsening coarse = coarsen(graph, {.seed = 1, .threads = 2});
//   const std::vector<int> device = place(coarse.graph);
//   const std::vector<int> all = coarse.projected(device);
//
// Heavy edges are matched first, ties in random order: what communicates most
// ends up together (Karypis and Kumar, "A fast and high quality multilevel
// scheme for partitioning irregular graphs", SIAM Journal on Scientific
// Computing 20 (1), 1998, heavy-edge matching; here greedy over all edges).
//
// The result is a function of the graph and the seed alone.
// Errors: Error(kInvalidArgument) for ends, weights or lists that fit no graph.
//
// Threads: a pure function, which starts as many as the options say.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/iterative/graph.h"
#include "weft/concurrent/iterative/kernels.h"

namespace weft::concurrent {

struct WeightedGraph {
  std::vector<double> vertex_weight;  // [vertex]
  std::vector<Edge> edges;
  std::vector<double> edge_weight;  // [edge], not NaN

  Vertex vertices() const { return static_cast<Vertex>(vertex_weight.size()); }
};

struct Coarsening {
  // Vertices' weights are sums over those that were joined, edges' weights over
  // the parallel edges; what lay between joined vertices is gone.
  WeightedGraph graph;
  std::vector<Vertex> coarse_of;  // [vertex]

  // Gives each vertex what the coarse one that it is part of has.
  template <class T>
  std::vector<T> projected(const std::vector<T>& of_coarse) const {
    WEFT_CHECK(of_coarse.size() == graph.vertices());
    std::vector<T> result;
    result.reserve(coarse_of.size());
    for (const Vertex coarse : coarse_of) result.push_back(of_coarse[coarse]);
    return result;
  }
};

Coarsening coarsen(const WeightedGraph& graph, const KernelOptions& options);

}  // namespace weft::concurrent
