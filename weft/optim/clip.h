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
// PyTorch does. They all become NaN where the norm is not finite, also where only
// the squares of finite gradients are beyond f32, from about 1e19 on.
std::vector<Value> clip_by_global_norm(std::span<const Value> gradients,
                                       double max_norm);

}  // namespace weft
