// What a variable of some type may be assigned.
//
// Threads: pure functions.
#pragma once

#include "weft/tensor/tensor.h"

namespace weft {

// Whether a variable of type `wanted` may hold a value of type `given`: equal
// but for dims that are not known yet, which are checked when a graph runs.
bool may_hold(const TensorType& wanted, const TensorType& given);

}  // namespace weft
