// Looks for what is no number.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "weft/tensor/tensor.h"

namespace weft {

// Index of the first NaN or infinity, or -1: integers and flags are always
// numbers.
std::int64_t first_bad(const TensorType& type, const void* data);

}  // namespace weft
