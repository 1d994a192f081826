// Reductions over any axes. `axes` may be negative; empty means all of them.
//
// Throws Error(kInvalidArgument) for bools, for an axis that is out of range or
// named twice, and where an extremum has no elements to choose from. NaN wins
// an extremum.
#pragma once

#include "weft/graph/context.h"

namespace weft {

Value sum(const Operand& x, Integers axes = {}, bool keep_dims = false);
// Floats only.
Value mean(const Operand& x, Integers axes = {}, bool keep_dims = false);
Value reduce_max(const Operand& x, Integers axes = {}, bool keep_dims = false);
Value reduce_min(const Operand& x, Integers axes = {}, bool keep_dims = false);
Value product(const Operand& x, Integers axes = {}, bool keep_dims = false);
// They take bools. Among no elements none is true, and so are all.
Value any(const Operand& x, Integers axes = {}, bool keep_dims = false);
Value all(const Operand& x, Integers axes = {}, bool keep_dims = false);
// Index of the first maximum or minimum along one axis, as i64.
Value argmax(const Operand& x, std::int64_t axis, bool keep_dims = false);
Value argmin(const Operand& x, std::int64_t axis, bool keep_dims = false);
// The product of the dims: a constant unless one of them is symbolic.
Value element_count(const Shape& shape, DType dtype);

}  // namespace weft
