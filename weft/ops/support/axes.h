// Axes of an op: checked where types are inferred, resolved where it runs.
#pragma once

#include <array>

#include "weft/graph/op.h"

namespace weft {

// One axis, negative ones counted from the last. Throws through call.error.
int checked_axis(const OpCall& call, std::int64_t axis, int rank);
// The same for an axis that inference has accepted.
inline int resolved_axis(std::int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// A set of axes.
class AxisSet {
 public:
  // All of them if the list is empty. The list was checked before.
  AxisSet(const Integers& axes, int rank);
  bool has(int axis) const { return has_[static_cast<std::size_t>(axis)]; }

 private:
  std::array<bool, Shape::kMaxRank> has_{};
};

// Throws through call.error if the axis, of that size, is empty.
void require_elements(const OpCall& call, Dim size, int axis);

// Throws through call.error for an axis out of range or named twice.
AxisSet checked_axes(const OpCall& call, const Integers& axes, int rank);

// What is left of `shape` without the axes, or with them at size 1.
Shape reduced_shape(const Shape& shape, const AxisSet& axes, bool keep_dims);

// A shape cut at an axis: elements before it, along it, and after it.
struct AxisCut {
  std::int64_t outer;
  std::int64_t size;
  std::int64_t inner;

  AxisCut(const Shape& shape, int axis)
      : outer(product(shape.first(axis))),
        size(shape[axis]),
        inner(product(shape.last(shape.rank() - axis - 1))) {}
};

}  // namespace weft
