// Ops on some rows of a table, which cost what they touch: with them an
// optimizer changes the rows of an embedding that a batch has read, and no
// others (optim/row_gradient.h).
//
// A table is [size, width…], rows are [count…, width…] and their indices
// [count…], of any rank. Indices are as in ops/index.h.
//
// Throws Error(kInvalidArgument) for bools, other dtypes and shapes that do not
// fit.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// x + scatter_add(updates, indices): a plan that may overwrite x reads and
// writes only the rows that the indices name.
Value add_rows(const Operand& x, const Operand& updates,
               const Operand& indices);

// Rows of one index added up: the first of them becomes their sum, in order,
// and the others zero. So each row of a table of `size` gets all that it gets
// from one row, and scatter_add gives what it would have given.
Value coalesce_rows(const Operand& updates, const Operand& indices, Dim size);

}  // namespace weft
