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

// How many elements lie in [begin, end). Throws where there are fewer than
// none, or where that cannot be said.
Dim checked_span(const OpCall& call, Dim begin, Dim end, int axis) {
  if (!is_symbolic(begin) && !is_symbolic(end) && begin > end) {
    throw call.error("axis {} begins at {}, after its end {}", axis, begin,
                     end);
  }
  // Symbols are sizes, and so not negative; but a number less a symbol may be.
  if (is_symbolic(begin) && !is_symbolic(end)) {
    throw call.error("axis {} from {} to {} has no known sign", axis,
                     to_string(begin), end);
  }
  return dim_subtract(end, begin);
}

// How many steps begin in a span. The last one may reach beyond its end: the
// quotient is rounded up.
Dim steps_in(Dim span, std::int64_t step) {
  return dim_floor_divide(dim_add(span, step - 1), step);
}

SliceRange forward(const OpCall& call, std::int64_t begin, std::int64_t end,
                   std::int64_t step, Dim size, int axis) {
  const Dim first = position(call, begin, size, axis);
  const Dim span =
      checked_span(call, first, position(call, end, size, axis), axis);
  return {first, steps_in(span, step), step};
}

// A slice on the way down passes what lies between `above`, one more than the
// first place, and `below`, the last one.
SliceRange backward(const OpCall& call, std::int64_t begin, std::int64_t end,
                    std::int64_t step, Dim size, int axis) {
  const auto behind = [&](std::int64_t index) {
    return dim_add(position(call, index, size, axis), 1);
  };
  const Dim above = begin == kToEnd ? size : behind(begin);
  const Dim below = end == kToEnd ? 0 : behind(end);
  if (!is_symbolic(above) && !is_symbolic(size) && above > size) {
    throw call.error("axis {} of size {} has no element {}", axis, size, begin);
  }
  const Dim span = checked_span(call, below, above, axis);
  if (span == 0) return {0, 0, step};
  return {dim_subtract(above, 1), steps_in(span, -step), step};
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
    if (step == 0 || step < -kMaxDim || step > kMaxDim) {
      throw call.error("step {} of axis {} is 0 or beyond 2^52", step, axis);
    }
    ranges.push_back((step > 0 ? forward : backward)(call, begins[i], ends[i],
                                                     step, shape[axis], axis));
  }
  return ranges;
}

Shape sliced_shape(const std::vector<SliceRange>& ranges) {
  Shape shape;
  for (const SliceRange& range : ranges) shape.push_back(range.size);
  return shape;
}

}  // namespace weft
