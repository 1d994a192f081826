#include "weft/concurrent/iterative/coarsen.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace weft::concurrent {
namespace {

void check(const WeightedGraph& graph) {
  if (graph.edges.size() != graph.edge_weight.size())
    throw Error(ErrorCode::kInvalidArgument, "coarsen",
                "{} edges and {} weights of edges", graph.edges.size(),
                graph.edge_weight.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i)
    // A sort by weights needs an order, and NaN has none.
    if (std::isnan(graph.edge_weight[i]))
      throw Error(ErrorCode::kInvalidArgument, "coarsen",
                  "the weight of edge {} is not a number", i);
}

// Heavy edges first, ties in random order.
Order heavy_first(const std::vector<double>& weights, std::uint64_t seed) {
  const auto edges = static_cast<Task>(weights.size());
  // A stable sort by weight keeps this order among equals.
  const Order random = random_order(edges, seed);
  Order order = random;
  std::stable_sort(order.at_rank.begin(), order.at_rank.end(),
                   [&](Task a, Task b) { return weights[a] > weights[b]; });
  for (Task rank = 0; rank < edges; ++rank)
    order.rank_of[order.at_rank[rank]] = rank;
  return order;
}

// Coarse vertices are numbered by the smallest vertex in them.
std::vector<Vertex> joined(const WeightedGraph& graph,
                           const std::vector<std::uint8_t>& taken) {
  std::vector<Vertex> partner(graph.vertices());
  std::iota(partner.begin(), partner.end(), 0);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i] == 0) continue;
    const auto [a, b] = graph.edges[i];
    partner[a] = b;
    partner[b] = a;
  }
  std::vector<Vertex> coarse_of(graph.vertices());
  Vertex next = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v)
    // The smaller of two partners comes first and has its number by now.
    coarse_of[v] = partner[v] < v ? coarse_of[partner[v]] : next++;
  return coarse_of;
}

WeightedGraph merged(const WeightedGraph& graph,
                     const std::vector<Vertex>& coarse_of) {
  WeightedGraph coarse;
  const Vertex vertices =
      coarse_of.empty()
          ? 0
          : *std::max_element(coarse_of.begin(), coarse_of.end()) + 1;
  coarse.vertex_weight.assign(vertices, 0);
  for (Vertex v = 0; v < graph.vertices(); ++v)
    coarse.vertex_weight[coarse_of[v]] += graph.vertex_weight[v];

  // Parallel edges come together by sorting; equal ones in their old order, so
  // that sums do not depend on the sort.
  std::vector<std::tuple<Vertex, Vertex, std::size_t>> links;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const auto [a, b] =
        std::minmax(coarse_of[graph.edges[i].a], coarse_of[graph.edges[i].b]);
    if (a != b) links.emplace_back(a, b, i);
  }
  std::sort(links.begin(), links.end());
  for (const auto& [a, b, edge] : links) {
    const bool is_new = coarse.edges.empty() || coarse.edges.back().a != a ||
                        coarse.edges.back().b != b;
    if (is_new) {
      coarse.edges.push_back({a, b});
      coarse.edge_weight.push_back(0);
    }
    coarse.edge_weight.back() += graph.edge_weight[edge];
  }
  return coarse;
}

}  // namespace

Coarsening coarsen(const WeightedGraph& graph, const KernelOptions& options) {
  check(graph);
  const std::vector<std::uint8_t> taken =
      matching(graph.vertices(), graph.edges,
               heavy_first(graph.edge_weight, options.seed), options);
  Coarsening result;
  result.coarse_of = joined(graph, taken);
  result.graph = merged(graph, result.coarse_of);
  return result;
}

}  // namespace weft::concurrent
