#include "weft/ops/support/slicing.h"

#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Where an index that may count from the end stands; checked if possible.
Dim position(const OpCall& call, std::int64_t index, Dim size, int axis) {
  // The end has no number where the axis is symbolic.
  if (index == kToEnd) return size;
  // A size that is not known yet is checked when it is.
  const Dim most = is_symbolic(size) ? kMaxDim : size;
  if (index < -most || index > most) {
    throw call
        .error("{} is outside axis {} of size {}", index, axis, to_string(size))
        .hint("negative positions count from the end; kToEnd is the end");
  }
  return index >= 0 ? index : dim_subtract(size, -index);
}

}  // namespace

std::vector<SliceRange> slice_ranges(const OpCall& call, const Shape& shape) {
  const Integers& begins = call.attributes.integers("begin");
  const Integers& ends = call.attributes.integers("end");
  const Integers& steps = call.attributes.integers("steps");
  const auto rank = static_cast<std::size_t>(shape.rank());
  if (begins.size() != rank || ends.size() != rank ||
      (!steps.empty() && steps.size() != rank)) {
    throw call.error("begin, end and steps need one entry for each of {} axes",
                     rank);
  }
  std::vector<SliceRange> ranges;
  for (std::size_t i = 0; i < rank; ++i) {
    const int axis = static_cast<int>(i);
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    // A step of 0 would never end, and nothing here reads backwards.
    if (step < 1 || step > kMaxDim) {
      throw call.error("step {} of axis {} is outside [1, 2^52]", step, axis);
    }
    const Dim begin = position(call, begins[i], shape[axis], axis);
    const Dim end = position(call, ends[i], shape[axis], axis);
    if (!is_symbolic(begin) && !is_symbolic(end) && begin > end) {
      throw call.error("axis {} begins at {}, after its end {}", axis, begin,
                       end);
    }
    // Symbols are sizes, and so not negative; but a number less a symbol may
    // be.
    if (is_symbolic(begin) && !is_symbolic(end)) {
      throw call.error("axis {} from {} to {} has no known sign", axis,
                       to_string(begin), end);
    }
    const Dim span = dim_subtract(end, begin);
    ranges.push_back(
        // The last step may reach beyond the end: the quotient is rounded up.
        {begin, dim_floor_divide(dim_add(span, step - 1), step), step});
  }
  return ranges;
}

Shape sliced_shape(const std::vector<SliceRange>& ranges) {
  Shape shape;
  for (const SliceRange& range : ranges) shape.push_back(range.size);
  return shape;
}

}  // namespace weft
