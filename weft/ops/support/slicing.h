// What the slice ops mean by begin, end and steps.
#pragma once

#include "weft/graph/op.h"

namespace weft {

// One axis of a slice: `size` elements, from `begin` on, `step` apart. An empty
// one begins at 0, if it goes backward.
struct SliceRange {
  Dim begin;
  Dim size;
  std::int64_t step;
};

// The ranges that a call's attributes cut from `shape`, one per axis. Dims may
// be symbolic. Throws through call.error for what lies outside the shape.
std::vector<SliceRange> slice_ranges(const OpCall& call, const Shape& shape);

// It is gathered along the axes.
Shape sliced_shape(const std::vector<SliceRange>& ranges);

}  // namespace weft
