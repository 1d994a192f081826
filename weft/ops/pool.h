// Pooling over NHWC images.
//
// Throws Error(kInvalidArgument) unless x is floating, of four axes, and at
// least as large as one window.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct PoolOptions {
  Integers window = {2, 2};
  Integers strides = {};  // empty: the window
  // Top, bottom, left, right; each smaller than the window.
  Integers padding = {0, 0, 0, 0};
};

// Padding never wins a maximum.
Value max_pool(const Operand& x, const PoolOptions& options = {});
// Padding does not count in the mean, unless `counts_padding`: then each mean
// is over the whole window, with zeros beyond the image.
Value avg_pool(const Operand& x, const PoolOptions& options = {},
               bool counts_padding = false);

}  // namespace weft
