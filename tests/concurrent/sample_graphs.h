// Small graphs with names, for the tests of this folder.
#pragma once

#include <vector>

#include "weft/concurrent/iterative/graph.h"

namespace weft::concurrent {

inline std::vector<Edge> clique_edges(Vertex vertices) {
  std::vector<Edge> edges;
  for (Vertex a = 0; a < vertices; ++a)
    for (Vertex b = a + 1; b < vertices; ++b) edges.push_back({a, b});
  return edges;
}

inline std::vector<Edge> path_edges(Vertex vertices) {
  std::vector<Edge> edges;
  for (Vertex a = 1; a < vertices; ++a) edges.push_back({a - 1, a});
  return edges;
}

// Vertex 0 in the middle.
inline std::vector<Edge> star_edges(Vertex leaves) {
  std::vector<Edge> edges;
  for (Vertex leaf = 1; leaf <= leaves; ++leaf) edges.push_back({0, leaf});
  return edges;
}

// With double edges, edges from a vertex to itself, and isolated vertices.
inline std::vector<Edge> untidy_edges(Vertex vertices, std::size_t count,
                                      std::uint64_t seed) {
  std::vector<Edge> edges = random_edges(vertices / 2, count, seed);
  edges.push_back(edges.front());
  edges.push_back({edges.front().b, edges.front().a});
  edges.push_back({3, 3});
  return edges;
}

}  // namespace weft::concurrent
