// Rows that tuples of indices name, as ONNX's GatherND and ScatterND have them:
// what NumPy means by x[i, j] and x[i, j] = updates, where `indices` are i and
// j side by side along a new last axis.
//
// In x[b…, d…, rest…], indices[b…, q…, k] name an element of the k axes d… for
// each place q…, and with it rest… elements: a row. The `batch_dims` axes b…
// are gone through side by side. Indices are as in ops/index.h.
//
// Throws Error(kInvalidArgument) where the tuples are longer than x has axes,
// where batch axes or updates do not fit, and for bools that are not just set.
#pragma once

#include "weft/graph/context.h"

namespace weft {

// y[b…, q…, rest…] = x[b…, indices[b…, q…], rest…].
Value gather_nd(const Operand& x, const Operand& indices,
                std::int64_t batch_dims = 0);

// What becomes of a row that updates come to, in their order: the last one's
// value, the sum, the largest or the smallest of all, itself included.
enum class ScatterMode { kSet, kAdd, kMax, kMin };
std::string_view to_string(ScatterMode mode);

// x with updates[b…, q…, rest…] in the rows that the indices name. A plan that
// may overwrite x reads and writes only these.
//
// The gradient of a maximum or minimum is shared equally by all that reach it,
// as reduce_max does; that of kSet goes to the last update of each row.
Value scatter_nd(const Operand& x, const Operand& indices,
                 const Operand& updates, ScatterMode mode = ScatterMode::kSet,
                 std::int64_t batch_dims = 0);

}  // namespace weft
