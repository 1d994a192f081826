// For `weft predict`: a node of a graph to those that are nearest to it.
//
// Threads: as Predictor.
#pragma once

#include <memory>

#include "weft/train/step/predictor.h"

namespace weft {

// The task predicts scores [N, nodes] from nodes i32[N]; the data's classes are
// the nodes' names.
std::unique_ptr<Predictor> find_nearest_nodes(const PredictorContext& context);

}  // namespace weft
