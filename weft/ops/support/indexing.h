// What ops share that address rows by integers.
#pragma once

#include <algorithm>

#include "weft/graph/batch.h"
#include "weft/ops/support/elementwise.h"

namespace weft {

// Where `count` elements of an axis of `size` begin that an index names:
// negative ones count from the end. What lies outside is clamped into the axis,
// so that no kernel touches foreign memory; graph/index_check.h finds it.
inline std::int64_t start_of(std::int64_t index, std::int64_t size,
                             std::int64_t count) {
  return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0,
                                  size - count);
}
// The row that an index names.
inline std::int64_t row_of(std::int64_t index, std::int64_t size) {
  return start_of(index, size, 1);
}
// The same for classes, which are not counted from the end: -1 often stands for
// a label that is missing.
inline std::int64_t class_of(std::int64_t label, std::int64_t classes) {
  return std::clamp<std::int64_t>(label, 0, classes - 1);
}

// The row that index `i` of the tensor names.
inline std::int64_t index_at(const TensorView& indices, std::int64_t i,
                             std::int64_t size) {
  return row_of(load_as<std::int64_t>(indices, i), size);
}

// Calls visit(add), where add(x, from, to) adds x[from] to y[to]. Sums in
// double (integers in int64) from zero on, and rounds once at the end.
template <class Visit>
void accumulate(const TensorView& y, Visit&& visit) {
  const auto run = [&]<class Number>(Number) {
    std::vector<Number> sums(static_cast<std::size_t>(y.size()));
    visit([&](const TensorView& x, std::int64_t from, std::int64_t to) {
      sums[static_cast<std::size_t>(to)] += load_as<Number>(x, from);
    });
    for (std::int64_t i = 0; i < y.size(); ++i) {
      store_as(y, i, sums[static_cast<std::size_t>(i)]);
    }
  };
  if (is_floating(y.dtype()))
    run(double{});
  else
    run(std::int64_t{});
}

// Throws through call.error unless the operand is i32 or i64.
void require_indices(const OpCall& call, std::size_t input);
// Throws through call.error where indices of this shape have an axis of no
// elements to choose from.
void require_choice(const OpCall& call, Dim size, const Shape& indices);
// Throws through call.error unless the axes of `updates` from `axis` on begin
// with those of `indices`.
void require_rows(const OpCall& call, const Shape& updates,
                  const Shape& indices, int axis);
// The attribute "size", a shape of one dim. Throws through call.error for
// another.
Dim size_attribute(const OpCall& call);

// The instances' indices into `size` rows each, as indices into the rows of all
// of them below each other. They become rows here, so are clamped: no
// instance may see another's.
Value indices_of_all(const BatchContext& g, std::size_t input, Dim size);

}  // namespace weft
