#include "weft/concurrent/iterative/graph.h"

#include <algorithm>
#include <numeric>

#include "weft/base/error.h"
#include "weft/base/philox.h"

namespace weft::concurrent {
namespace {

constexpr std::uint32_t kEdgeStream = 0x65646765;  // "edge"

}  // namespace

Graph::Graph(Vertex vertices, std::span<const Edge> edges)
    : begin_(std::size_t{vertices} + 1, 0) {
  for (const auto& [a, b] : edges) {
    if (a >= vertices || b >= vertices)
      throw Error(ErrorCode::kInvalidArgument, "Graph",
                  "edge {} - {} in a graph of {} vertices", a, b, vertices)
          .hint("vertices are 0 … vertices-1");
    // A vertex is no neighbour of its own.
    if (a == b) continue;
    ++begin_[a];
    ++begin_[b];
  }
  // begin_[v] is the end of row v, and becomes its begin as the row is filled.
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  neighbours_.resize(begin_.back());
  for (const auto& [a, b] : edges) {
    if (a == b) continue;
    neighbours_[--begin_[a]] = b;
    neighbours_[--begin_[b]] = a;
  }
  for (Vertex v = 0; v < vertices; ++v)
    // Sorted rows let problems stop at the first neighbour that is later.
    std::sort(neighbours_.begin() + static_cast<std::ptrdiff_t>(begin_[v]),
              neighbours_.begin() + static_cast<std::ptrdiff_t>(begin_[v + 1]));
}

Graph Graph::renamed(std::span<const Vertex> new_name) const {
  WEFT_CHECK(new_name.size() == vertices());
  std::vector<Vertex> old_name(vertices());
  for (Vertex v = 0; v < vertices(); ++v) old_name[new_name[v]] = v;

  Graph result;
  result.begin_.resize(begin_.size(), 0);
  for (Vertex v = 0; v < vertices(); ++v)
    result.begin_[v + 1] = result.begin_[v] + neighbours(old_name[v]).size();
  result.neighbours_.resize(arcs());
  // Vertices append themselves to their neighbours' rows in ascending order, so
  // the rows end up sorted.
  std::vector<std::size_t> end(result.begin_.begin(), result.begin_.end() - 1);
  for (Vertex v = 0; v < vertices(); ++v)
    for (const Vertex u : neighbours(old_name[v]))
      result.neighbours_[end[new_name[u]]++] = v;
  return result;
}

std::vector<Edge> random_edges(Vertex vertices, std::size_t count,
                               std::uint64_t seed) {
  WEFT_CHECK(vertices >= 2);
  const RandomStream random{seed, kEdgeStream, 0};
  const auto below = [](std::uint64_t word, Vertex bound) {
    // The product's upper half is below the bound, without the division of a
    // remainder.
    return static_cast<Vertex>(word * bound >> 32U);
  };
  std::vector<Edge> edges(count);
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxBlock block = random.block(i);
    const Vertex a = below(block[0], vertices);
    // It is one of the others.
    const Vertex b = below(block[1], vertices - 1);
    edges[i] = {a, b >= a ? b + 1 : b};
  }
  return edges;
}

}  // namespace weft::concurrent
