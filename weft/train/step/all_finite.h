// Whether a tensor holds numbers, and no NaN or infinity among them.
//
// Threads: a pure function.
#pragma once

#include "weft/tensor/tensor.h"

namespace weft {

// Tensors of other types than f32 are masks and counts, which are whole
// numbers.
bool all_finite(const Tensor& tensor);

}  // namespace weft
