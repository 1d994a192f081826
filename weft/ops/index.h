// Ops that address elements by integer tensors (i32 or i64). Negative ones
// count from the end, but not in one_hot. An index outside its axis is an
// IndexError of the eager call, and of a plan that gets it as an argument; one
// that a plan computes is clamped (graph/index_check.h).
//
// Throws Error(kInvalidArgument) where indices are of another dtype, or shapes
// do not fit.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// Rows of `x` along `axis`: the indices' shape replaces that axis.
Value gather(const Operand& x, const Operand& indices, std::int64_t axis = 0);
// The transpose of gather: a zero tensor of `size` rows along `axis`, with
// updates[i] added to row indices[i]. In order, so repeated rows sum
// deterministically.
Value scatter_add(const Operand& updates, const Operand& indices, Dim size,
                  std::int64_t axis = 0);
// 1 at the index along a new last axis of `depth`, else 0.
Value one_hot(const Operand& indices, std::int64_t depth,
              DType dtype = DType::kF32);
// Rows of a [words, width] table.
inline Value embedding(const Operand& table, const Operand& indices) {
  return gather(table, indices, 0);
}

}  // namespace weft
