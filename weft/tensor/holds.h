// Which numbers tensors of integers hold.
//
// Threads: a pure function.
#pragma once

#include "weft/tensor/dtype.h"

namespace weft {

// Whether a dtype of integers has the number itself: a cast would keep some
// bits of it. Floats hold all numbers, rounded, and bools whether they are 0.
bool holds(DType dtype, double number);

}  // namespace weft
