// What a part of a graph (partition.h) receives of other ranks, and what it
// computes with that: the transfers of transfer_order.h.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "weft/compiler/flat/flat_graph.h"
#include "weft/place/transfer_order.h"

namespace weft {

// A piece of what a region computes, as a step of its plan.
struct RegionStep {
  std::vector<std::size_t> arguments;     // of the region, that it reads
  std::vector<std::size_t> predecessors;  // steps before this one
  double seconds = 0;
};
using RegionSteps = std::vector<RegionStep>;

// The nodes of a region, without times: what is known before it is planned.
RegionSteps steps_of_nodes(const Function& function);

struct PartTransfers {
  TransferGraph graph;         // transfers take no time yet
  std::vector<int> crossings;  // which one each transfer is
};

// `part` is the graph of `rank`; `steps` are those of each of its regions.
// Bodies stand for all their activations: what leads back to a value that is
// being looked at counts for nothing, as the first activation reads it before
// any other. Cost: linear in the steps and what they read.
PartTransfers transfers_of(const FlatGraph& part, int rank,
                           std::span<const RegionSteps> steps);

}  // namespace weft
