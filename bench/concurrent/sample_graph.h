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

// --edge-list FILE: a line "u v" each, blanks or a tab between, packed by gzip
// or plain; pairs that come in both directions count once. Else random, with
// --vertices N, --edges M and `seed`.
// Throws Error(kDataLoss) with the line that is no edge.
SampleGraph sample_graph(const WorkerOptions& options, std::uint64_t seed);

}  // namespace weft::bench
