// Images of another size.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct ResizeOptions {
  bool bilinear = true;  // else the nearest pixel
  // Where pixels lie: with their corners on the corners of the image, or, so
  // that they are apart by (size - 1) / (new size - 1), the outermost in the
  // same places. The first is what OpenCV, TensorFlow 2 and PyTorch do.
  bool align_corners = false;
};

// NHWC images of `rows` x `columns` pixels. Nothing is averaged where they
// become smaller. Throws Error(kInvalidArgument) unless x is floating, of four
// axes, with known rows and columns, and all sides are from 1 to 2^20.
Value resize(const Operand& x, std::int64_t rows, std::int64_t columns,
             const ResizeOptions& options = {});

}  // namespace weft
