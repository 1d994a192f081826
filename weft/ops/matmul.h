// Matrix products.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct MatmulOptions {
  bool transpose_a = false;  // a is [..., k, m] instead of [..., m, k]
  bool transpose_b = false;  // b is [..., n, k] instead of [..., k, n]
};

// [..., m, k] x [..., k, n] -> [..., m, n]; leading dims broadcast.
// Accumulates in f32 (f64 for f64). Throws Error(kInvalidArgument) unless both
// are floats of one dtype, with two axes at least, whose dims fit.
Value matmul(const Operand& a, const Operand& b, MatmulOptions options = {});

}  // namespace weft
