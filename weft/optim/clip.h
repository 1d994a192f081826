// Gradient clipping by the norm of all gradients together (Pascanu, Mikolov
// and Bengio, "On the difficulty of training recurrent neural networks",
// ICML 2013, algorithm 1).
//
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

// sqrt(sum of all squares), f32.
Value global_norm(std::span<const Value> gradients);

// Scales all gradients by max_norm / (norm + 1e-6) when that is below 1, as
// PyTorch does.
std::vector<Value> clip_by_global_norm(std::span<const Value> gradients,
                                       double max_norm);

}  // namespace weft
