#include "weft/ops/support/axes.h"

namespace weft {

int checked_axis(const OpCall& call, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw call.error("axis {} is outside [{}, {})", axis, -rank, rank)
        .hint("axis = -1 means the last dimension");
  }
  return resolved_axis(axis, rank);
}

AxisSet::AxisSet(const Integers& axes, int rank) {
  // An empty list means all axes.
  for (int axis = 0; axis < rank; ++axis) {
    has_[static_cast<std::size_t>(axis)] = axes.empty();
  }
  for (const std::int64_t axis : axes) {
    has_[static_cast<std::size_t>(resolved_axis(axis, rank))] = true;
  }
}

void require_elements(const OpCall& call, Dim size, int axis) {
  if (size != 0) return;
  throw call.error("axis {} has no elements to choose from", axis)
      .hint("check for an empty input first");
}

AxisSet checked_axes(const OpCall& call, const Integers& axes, int rank) {
  std::array<bool, Shape::kMaxRank> seen{};
  for (const std::int64_t axis : axes) {
    bool& is_seen =
        seen[static_cast<std::size_t>(checked_axis(call, axis, rank))];
    // -1 and the last axis are the same one, which the set would hide.
    if (is_seen) throw call.error("axis {} is named twice", axis);
    is_seen = true;
  }
  return AxisSet(axes, rank);
}

Shape reduced_shape(const Shape& shape, const AxisSet& axes, bool keep_dims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes.has(axis))
      result.push_back(shape[axis]);
    else if (keep_dims)
      result.push_back(1);
  }
  return result;
}

}  // namespace weft
