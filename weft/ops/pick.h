// One element, or several, along an axis at each place of the others. Indices
// are as in ops/index.h. Throws Error(kInvalidArgument) where shapes do not fit
// each other, and for an axis that is out of range.
#pragma once

#include "weft/ops/scatter.h"

namespace weft {

// Picks along one axis: x[…, indices[…], …], where the indices have the other
// axes of x. If they have as many axes as x, there are several picks along it,
// as NumPy's take_along_axis has them.
Value pick(const Operand& x, const Operand& indices, std::int64_t axis = -1);
// The transpose of pick in x: zeros with `size` elements along the axis, which
// the values are added to. `is_many` says that the values have that axis too.
Value pick_scatter(const Operand& values, const Operand& indices, Dim size,
                   bool is_many = false, std::int64_t axis = -1);

// x with values[…] where pick(x, indices, axis) reads, as NumPy's
// put_along_axis has it. The indices have as many axes as x; they broadcast to
// x beside the axis, and the values to the indices.
Value put_along_axis(const Operand& x, const Operand& indices,
                     const Operand& values, std::int64_t axis = -1,
                     ScatterMode mode = ScatterMode::kSet);

}  // namespace weft
