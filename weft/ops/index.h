// Ops that address elements by integer tensors (i32 or i64). An index outside
// its axis is clamped into it: a kernel cannot throw. Data readers check
// labels and tokens before they get here.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// Rows of `x` along `axis`: the indices' shape replaces that axis.
Value gather(const Operand& x, const Operand& indices, std::int64_t axis = 0);
// Like a zero tensor of `size` rows along axis 0, with updates[i] added to
// row indices[i]. In order, so repeated rows sum deterministically.
Value scatter_add(const Operand& updates, const Operand& indices, Dim size);
// 1 at the index along a new last axis of `depth`, else 0.
Value one_hot(const Operand& indices, std::int64_t depth,
              DType dtype = DType::kF32);
// Rows of a [words, width] table.
inline Value embedding(const Operand& table, const Operand& indices) {
  return gather(table, indices, 0);
}
// x[i, indices[i]] for each leading index i: picks along the last axis.
Value pick(const Operand& x, const Operand& indices);

}  // namespace weft
