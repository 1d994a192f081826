// One placed flat graph as a graph for each rank.
//
// A rank's graph has the nodes that are placed there, and of every body that
// has some the skeleton of its control: the calls that begin its activations
// (also of the bodies that lead there), and the Switches that tell which
// branch they are on. What is read on another rank leaves by a Send and comes
// by a Receive, once for every activation that makes it: a Receive waits for
// its activation to begin and for its branch to be taken, so every rank knows
// by itself when its part of an activation, and of the run, is over.
//
// Bodies and call sites keep their numbers, by which ranks name an activation
// alike (peers.h). Nothing depends on the input of a run.
//
// Method: Kostopoulou, Charalambidis, Rondogiannis, arXiv 2410.20225, and for
//         the skeletons the distributed while loops of Yu et al., "Dynamic
//         Control Flow in Large-Scale Machine Learning", EuroSys 2018,
//         section 4.4.
// Threads: pure function.
#pragma once

#include <vector>

#include "weft/compiler/flat/flat_graph.h"
#include "weft/place/placement.h"

namespace weft {

struct GraphPart {
  FlatGraph graph;
  // Which of the whole's results each of the graph's results is.
  std::vector<int> results;
};

// The parts, by rank. `whole` was lowered for the same placement.
std::vector<GraphPart> partition(const FlatGraph& whole,
                                 const RankPlacement& placement);

}  // namespace weft
