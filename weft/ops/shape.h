// Ops that move elements and compute nothing.
#pragma once

#include <limits>
#include <vector>

#include "weft/graph/context.h"

namespace weft {

// As the end of a slice: the end of the axis, also of a symbolic one.
inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

// A view. One dim may be -1: it takes what is left.
Value reshape(const Operand& x, const Shape& shape);
// Axis i of the result is axis permutation[i] of x; empty reverses the axes.
Value transpose(const Operand& x, Integers permutation = {});
// Repeats along axes of size 1 (and new leading axes) up to `shape`.
Value broadcast_to(const Operand& x, const Shape& shape);
// Elements begin, begin + step, … below end of each axis. Negative begin and
// end count from the end of the axis. All three have one entry per axis.
Value slice(const Operand& x, Integers begin, Integers end,
            Integers steps = {});
// The transpose of slice: zeros of `shape` with y where slice would read.
Value unslice(const Operand& y, const Shape& shape, Integers begin,
              Integers end, Integers steps = {});
// One axis of `slice`.
Value slice_axis(const Operand& x, std::int64_t axis, std::int64_t begin,
                 std::int64_t end);
Value concat(std::span<const Value> xs, std::int64_t axis,
             std::source_location where = std::source_location::current());
// Cuts an axis into parts of the given sizes, which add up to it.
std::vector<Value> split(const Operand& x, const Integers& sizes,
                         std::int64_t axis);
// `low` and `high` elements of `value` before and after each axis.
Value pad(const Operand& x, Integers low, Integers high, double value = 0);
// Repeats the whole tensor repeats[i] times along axis i.
Value tile(const Operand& x, Integers repeats);

}  // namespace weft
