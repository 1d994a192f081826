// The graphs that commands work on: generated, or read from an edge list.
#pragma once

#include <string>
#include <vector>

#include "bench/worker/options.h"

#include "weft/concurrent/iterative/graph.h"

namespace weft::bench {

struct SampleGraph {
  concurrent::Vertex vertices = 0;
  std::vector<concurrent::Edge> edges;
};

// --edge-list FILE: simple_edges() of a file (iterative/edge_list.h). Else
// random, with --vertices N, --edges M and `seed`.
SampleGraph sample_graph(const WorkerOptions& options, std::uint64_t seed);

}  // namespace weft::bench
