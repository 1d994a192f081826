// Reference kernels of the heavy ops compute on plain arrays of double: they
// are the definition, so they must be easy to read and exact enough.
#pragma once

#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

// A copy of the elements in row-major order.
std::vector<double> to_doubles(const TensorView& view);
// Rounds each to the dtype of `view`, which has as many elements.
void from_doubles(const std::vector<double>& values, const TensorView& view);

}  // namespace weft
