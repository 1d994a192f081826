// Tells `weft predict` which nodes of a graph are nearest to one of them.
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
