// What happens in some steps only.
//
// Threads: pure functions.
#pragma once

#include "weft/optim/optimizer.h"

namespace weft {

// bool[]: whether the step's number is a multiple of `steps`.
Value is_every(std::int64_t steps, const StepTime& time);

}  // namespace weft
