#include "weft/concurrent/iterative/certificates.h"

#include <algorithm>

namespace weft::concurrent {

bool is_greedy_independent_set(const Graph& ranked,
                               std::span<const std::uint8_t> chosen) {
  if (chosen.size() != ranked.vertices()) return false;
  for (Vertex v = 0; v < ranked.vertices(); ++v) {
    const auto neighbours = ranked.neighbours(v);
    const bool is_free =
        std::none_of(neighbours.begin(), neighbours.end(),
                     [&](Vertex u) { return u < v && chosen[u] != 0; });
    if (is_free != (chosen[v] != 0)) return false;
  }
  return true;
}

bool is_greedy_colouring(const Graph& ranked,
                         std::span<const std::uint32_t> colours) {
  if (colours.size() != ranked.vertices()) return false;
  std::vector<std::uint32_t> earlier;
  for (Vertex v = 0; v < ranked.vertices(); ++v) {
    earlier.clear();
    for (const Vertex u : ranked.neighbours(v))
      if (u < v) earlier.push_back(colours[u]);
    std::sort(earlier.begin(), earlier.end());
    std::uint32_t smallest = 0;
    for (const std::uint32_t colour : earlier)
      if (colour == smallest) ++smallest;
    if (colours[v] != smallest) return false;
  }
  return true;
}

bool is_greedy_matching(const RankedEdges& edges,
                        std::span<const std::uint8_t> taken) {
  if (taken.size() != edges.edges()) return false;
  std::vector<std::uint8_t> is_matched(edges.vertices(), 0);
  for (Task rank = 0; rank < edges.edges(); ++rank) {
    const auto [a, b] = edges.edge(rank);
    const bool is_free = a != b && is_matched[a] == 0 && is_matched[b] == 0;
    if (is_free != (taken[rank] != 0)) return false;
    if (is_free) is_matched[a] = is_matched[b] = 1;
  }
  return true;
}

bool is_maximal_independent_set(const Graph& graph,
                                std::span<const std::uint8_t> chosen) {
  if (chosen.size() != graph.vertices()) return false;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    const auto neighbours = graph.neighbours(v);
    const bool is_covered =
        std::any_of(neighbours.begin(), neighbours.end(),
                    [&](Vertex u) { return chosen[u] != 0; });
    if (is_covered == (chosen[v] != 0)) return false;
  }
  return true;
}

}  // namespace weft::concurrent
