// Matrix products.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct MatmulOptions {
  bool transpose_a = false;  // a is [..., k, m] instead of [..., m, k]
  bool transpose_b = false;  // b is [..., n, k] instead of [..., k, n]
};

// [..., m, k] x [..., k, n] -> [..., m, n]; leading dims broadcast. A vector is
// a row on the left and a column on the right, and the result has no axis for
// it, as in NumPy: [k] x [k] -> [], [..., m, k] x [k] -> [..., m].
// Accumulates in f32 (f64 for f64). Throws Error(kInvalidArgument) unless both
// are floats of one dtype, with an axis at least, whose dims fit, and for a
// vector that is to be transposed.
Value matmul(const Operand& a, const Operand& b, MatmulOptions options = {});
// The same, called for at `where`.
Value matmul(const Value& a, const Value& b, MatmulOptions options,
             const Location& where);

}  // namespace weft
