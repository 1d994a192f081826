// Geometry of windows that slide over NHWC images: what convolution and
// pooling share.
#pragma once

#include "weft/graph/op.h"

namespace weft {

// One spatial axis.
struct WindowAxis {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;  // padding
  std::int64_t after = 0;
  std::int64_t dilation = 1;

  // Where tap `tap` of window `index` lies in the image; maybe outside.
  std::int64_t position(std::int64_t index, std::int64_t tap) const {
    return index * stride - before + tap * dilation;
  }
};

// Rows, then columns.
struct Window {
  WindowAxis rows;
  WindowAxis columns;
};

// Reads `strides`, `padding` and, if the op has it, `dilation`. Throws through
// call.error for another count of numbers, or one out of range.
Window window_of(const OpCall& call, std::int64_t kernel_rows,
                 std::int64_t kernel_columns);

// Windows along an axis of `size`, which may be symbolic. Throws through
// call.error when not even one fits.
Dim window_count(const OpCall& call, const WindowAxis& axis, Dim size);

}  // namespace weft
