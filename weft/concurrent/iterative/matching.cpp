#include "weft/concurrent/iterative/matching.h"

#include <limits>
#include <numeric>

#include "weft/base/error.h"

namespace weft::concurrent {

RankedEdges::RankedEdges(Vertex vertices, std::span<const Edge> edges,
                         const Order& order)
    : edges_(edges.size()), begin_(std::size_t{vertices} + 1, 0) {
  WEFT_CHECK(order.size() == edges.size());
  // A vertex keeps its taker's rank plus 1, which must fit a Task too.
  if (edges.size() >= std::numeric_limits<Task>::max())
    throw Error(ErrorCode::kUnsupported, "RankedEdges", "{} edges",
                edges.size())
        .hint("fewer than 2^32 - 1");
  for (Task rank = 0; rank < order.size(); ++rank) {
    const auto [a, b] = edges_[rank] = edges[order.at_rank[rank]];
    if (a >= vertices || b >= vertices)
      throw Error(ErrorCode::kInvalidArgument, "RankedEdges",
                  "edge {} - {} in a graph of {} vertices", a, b, vertices)
          .hint("vertices are 0 … vertices-1");
    // A loop can never be taken, and in its row it would hold up later edges.
    if (a == b) continue;
    ++begin_[a];
    ++begin_[b];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  incident_.resize(begin_.back());
  // begin_[v] is the end of row v, and becomes its begin as the row is filled
  // from behind.
  for (Task rank = order.size(); rank-- != 0;) {
    const auto [a, b] = edges_[rank];
    if (a == b) continue;
    incident_[--begin_[a]] = rank;
    incident_[--begin_[b]] = rank;
  }
}

}  // namespace weft::concurrent
