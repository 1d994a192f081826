// What the ops that only move elements share: their reference kernels copy one
// element at a time.
#pragma once

#include <array>
#include <vector>

#include "weft/base/index.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/slicing.h"

namespace weft {

using MultiIndex = std::array<std::int64_t, Shape::kMaxRank>;

// Calls body(i, index) for each element i of `shape` and its multi-index.
template <class Body>
void for_each_index(const Shape& shape, Body&& body) {
  const std::int64_t size = shape.num_elements();
  MultiIndex index{};
  for (std::int64_t i = 0; i < size; ++i) {
    body(i, index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[at(axis)] < shape[axis]) break;
      index[at(axis)] = 0;
    }
  }
}

void copy_element(const TensorView& to, std::int64_t to_index,
                  const TensorView& from, std::int64_t from_index);

// Calls copy(i, place) for each element i of `part`, which stands at `place`
// of `whole` when the ranges say where on each axis the part's elements lie.
template <class Copy>
void for_each_placed(const Shape& part, const Shape& whole,
                     const std::vector<SliceRange>& ranges, Copy&& copy) {
  const auto strides = row_major_strides(whole);
  for_each_index(part, [&](std::int64_t i, const MultiIndex& index) {
    std::int64_t place = 0;
    for (int axis = 0; axis < part.rank(); ++axis) {
      const SliceRange& range = ranges[at(axis)];
      place += (range.begin + index[at(axis)] * range.step) * strides[at(axis)];
    }
    copy(i, place);
  });
}

// The whole of `shape`.
std::vector<SliceRange> full_ranges(const Shape& shape);

void fill_with(const TensorView& y, double value);

Cost move_cost(const OpCall& call);

// Adds an op from x to y that costs its bytes.
OpDef& add_mover(OpRegistry& ops, const char* name);

}  // namespace weft
