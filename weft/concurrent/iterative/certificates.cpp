#include "weft/concurrent/iterative/certificates.h"

#include <algorithm>
#include <utility>

namespace weft::concurrent {

// Each vertex is compared with its earlier neighbours alone: by induction over
// ranks, that makes the whole the sequential result.
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
    // In ascending order, one pass finds the smallest colour that none of them
    // has.
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
  // Edges come by rank, so this is the sequential algorithm itself: it is its
  // own certificate.
  std::vector<std::uint8_t> is_matched(edges.vertices(), 0);
  for (Task rank = 0; rank < edges.edges(); ++rank) {
    const auto [a, b] = edges.edge(rank);
    // An edge from a vertex to itself is never taken, as it has but one end.
    const bool is_free = a != b && is_matched[a] == 0 && is_matched[b] == 0;
    if (is_free != (taken[rank] != 0)) return false;
    if (is_free) is_matched[a] = is_matched[b] = 1;
  }
  return true;
}

bool is_contraction(std::span<const Task> successor, const Order& order,
                    std::span<const ListContraction<>::Neighbours> contracted) {
  constexpr Task kEnd = ListContraction<>::kEnd;
  const auto tasks = static_cast<Task>(successor.size());
  if (order.size() != tasks || contracted.size() != tasks) return false;
  // Both go by rank. Who has not been put back yet stands alone, as a ring of
  // one.
  std::vector<Task> before(tasks);
  std::vector<Task> after(tasks);
  for (Task rank = 0; rank < tasks; ++rank) before[rank] = after[rank] = rank;
  for (Task rank = tasks; rank-- != 0;) {
    const auto [left, right] = contracted[rank];
    // A neighbour that had gone earlier could not have been one any more.
    for (const Task neighbour : {left, right})
      if (neighbour < rank || (neighbour >= tasks && neighbour != kEnd))
        return false;
    // Either both are the node itself, which was the last one of a ring, or it
    // goes between two that are adjacent by now.
    if ((left == rank) != (right == rank)) return false;
    if (left == rank) continue;
    if (left != kEnd && right != kEnd &&
        (after[left] != right || before[right] != left))
      return false;
    if (left != kEnd && right == kEnd && after[left] != kEnd) return false;
    if (right != kEnd && left == kEnd && before[right] != kEnd) return false;
    before[rank] = left;
    after[rank] = right;
    if (left != kEnd) after[left] = rank;
    if (right != kEnd) before[right] = rank;
  }
  for (Task node = 0; node < tasks; ++node) {
    const Task next = successor[node];
    const Task found = after[order.rank_of[node]];
    if (found != (next == kEnd ? kEnd : order.rank_of[next])) return false;
  }
  return true;
}

bool is_shuffle(std::span<const Task> targets, std::span<const Task> cells) {
  if (targets.size() != cells.size()) return false;
  // A swap is its own inverse, so the steps are taken back in reverse.
  std::vector<Task> undone(cells.begin(), cells.end());
  for (std::size_t i = undone.size(); i-- != 0;)
    std::swap(undone[i], undone[targets[i]]);
  for (std::size_t i = 0; i < undone.size(); ++i)
    if (undone[i] != i) return false;
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
    // One test says both: a chosen vertex that is covered breaks independence,
    // and one that is neither breaks maximality.
    if (is_covered == (chosen[v] != 0)) return false;
  }
  return true;
}

}  // namespace weft::concurrent
