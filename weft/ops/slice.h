// Ops that cut parts out of tensors, and put them back.
//
// Throws Error(kInvalidArgument) for positions outside of the axis, an end
// before its beginning, steps below 1, and lists of another length.
#pragma once

#include <limits>

#include "weft/graph/context.h"

namespace weft {

// As the end of a slice it means the end of the axis, also of a symbolic one.
// Of a slice that goes backward, as its begin: the last element; as its end:
// the place before the first.
inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

// Elements begin, begin + step, … below end of each axis, or above it where the
// step is negative. Negative begin and end count from the end of the axis. All
// three have one entry per axis.
Value slice(const Operand& x, Integers begin, Integers end,
            Integers steps = {});
// The transpose of slice: zeros of `shape` with y where slice would read.
Value unslice(const Operand& y, const Shape& shape, Integers begin,
              Integers end, Integers steps = {});
// One axis of `slice`.
Value slice_axis(const Operand& x, std::int64_t axis, std::int64_t begin,
                 std::int64_t end);
// The elements along some axes in the opposite order.
Value reverse(const Operand& x, const Integers& axes);
// `low` and `high` elements of `value` before and after each axis.
Value pad(const Operand& x, Integers low, Integers high, double value = 0);

}  // namespace weft
