#include "bench/concurrent/sample_graph.h"

#include "weft/concurrent/iterative/edge_list.h"

namespace weft::bench {

SampleGraph sample_graph(const WorkerOptions& options, std::uint64_t seed) {
  if (options.values.contains("edge-list")) {
    const auto named = concurrent::read_edge_list(options.text("edge-list"));
    return {named.vertices(), concurrent::simple_edges(named.edges)};
  }
  const auto vertices =
      static_cast<concurrent::Vertex>(options.integer("vertices"));
  const auto edges = static_cast<std::size_t>(options.integer("edges"));
  return {vertices, concurrent::random_edges(vertices, edges, seed)};
}

}  // namespace weft::bench
