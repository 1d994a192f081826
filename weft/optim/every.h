// What happens in some steps only.
//
// Threads: pure functions.
#pragma once

#include "weft/optim/optimizer.h"

namespace weft {

// bool[]: whether the step's number is a multiple of `steps`.
Value is_every(std::int64_t steps, const StepTime& time);

// A count of steps among the options. Throws Error(kInvalidArgument) below 1.
std::int64_t require_count(const Options& options, std::string_view name,
                           std::string_view owner);

}  // namespace weft
