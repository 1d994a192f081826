// Gradients that compute the forward pass again instead of keeping it.
//
// Threads: as FunctionBuilder.
// Source:  Chen, Xu, Zhang and Guestrin, "Training deep nets with sublinear
//          memory cost", 2016.
#pragma once

#include <functional>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

// What `body` returns, in the function that is being built. Whoever
// differentiates keeps only what the body read from around it (arguments,
// variables): its gradient does what the body did once more, after the
// gradients of the results are there. So what lies between is freed in the
// meantime. What is random is drawn alike, and what the body assigned is
// assigned once. Costs the body's time once more in each gradient.
std::vector<Value> rematerialised(
    const std::function<std::vector<Value>()>& body);

}  // namespace weft
