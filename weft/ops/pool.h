// Pooling over NHWC images.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct PoolOptions {
  Integers window = {2, 2};
  Integers strides = {};  // empty: the window
  Integers padding = {0, 0, 0, 0};
};

// Padding never wins a maximum.
Value max_pool(const Operand& x, const PoolOptions& options = {});
// Padding does not count in the mean.
Value avg_pool(const Operand& x, const PoolOptions& options = {});

}  // namespace weft
