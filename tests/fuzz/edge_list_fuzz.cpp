#include <algorithm>

#include "tests/fuzz/fuzz.h"

#include "weft/concurrent/iterative/edge_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::concurrent;
  const auto text = weft::fuzz::text_of(data, size);
  weft::fuzz::refuse_or_accept([&] {
    const NamedEdges graph = parse_edge_list(text, "fuzz");
    WEFT_CHECK(!graph.edges.empty());
    WEFT_CHECK(graph.names.size() <= 2 * graph.edges.size());
    WEFT_CHECK(std::is_sorted(graph.names.begin(), graph.names.end()));
    for (const auto& [a, b] : graph.edges)
      WEFT_CHECK(a < graph.vertices() && b < graph.vertices());
    // Ends that are no vertices would be refused here.
    const auto edges = simple_edges(graph.edges);
    WEFT_CHECK(Graph(graph.vertices(), edges).arcs() == 2 * edges.size());
  });
  return weft::fuzz::refuse_or_accept([&] {
    WEFT_CHECK(2 * parse_vertex_list(text, "fuzz").size() <= size + 1);
  });
}
