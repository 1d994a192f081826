// How far a layer is moved for its size: the ratio of LARS and LAMB.
//
// Threads: pure functions.
#pragma once

#include "weft/graph/value.h"

namespace weft {

// ‖x‖ over all elements, a scalar of its dtype.
Value norm(const Value& x);

// ‖parameter‖ / denominator, and 1 where either is 0: a parameter that starts
// at zero must be able to leave it.
Value trust_ratio(const Value& parameter, const Value& denominator);

}  // namespace weft
