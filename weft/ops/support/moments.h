// The gradient that comes back through the moments of an image.
//
// Threads: that of whoever differentiates.
#pragma once

#include "weft/graph/value.h"

namespace weft {

// How many elements each channel has.
Value count_per_channel(const Value& x, DType dtype);

// dx = dmean / n + dvar * 2 (x - mean) / n for n elements of each channel, in
// the dtype of x. `mean` is that of x, and one of dmean and dvariance may be
// undefined.
Value gradient_of_moments(const Value& x, const Value& mean, const Value& dmean,
                          const Value& dvariance);

}  // namespace weft
