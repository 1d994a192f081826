#include "weft/ops/support/moves.h"

#include "weft/ops/support/elementwise.h"

namespace weft {

void copy_element(const TensorView& to, std::int64_t to_index,
                  const TensorView& from, std::int64_t from_index) {
  // Moves look at bytes alone: no dtype needs a loop of its own.
  const std::size_t size = size_of(to.dtype());
  std::memcpy(
      to.as<std::byte>() + static_cast<std::size_t>(to_index) * size,
      from.as<std::byte>() + static_cast<std::size_t>(from_index) * size, size);
}

std::vector<SliceRange> full_ranges(const Shape& shape) {
  std::vector<SliceRange> ranges;
  for (const Dim dim : shape) ranges.push_back({0, dim, 1});
  return ranges;
}

void fill_with(const TensorView& y, double value) {
  for (std::int64_t i = 0; i < y.size(); ++i) store_as(y, i, value);
}

// It computes nothing; Cost::of() adds the bytes that it moves.
Cost move_cost(const OpCall& call) { return Cost::of(call, 0); }

OpDef& add_mover(OpRegistry& ops, const char* name) {
  return ops.add(name).signature("(x) -> y").cost(move_cost);
}

}  // namespace weft
