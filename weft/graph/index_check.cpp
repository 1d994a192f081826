#include "weft/graph/index_check.h"

#include <atomic>

#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr std::int64_t kIndicesPerThread = 32 << 10;

}  // namespace

std::optional<IndexCheck> IndexCheck::of(const OpCall& call) {
  auto operand = index_operand(call);
  if (!operand || operand->axes.empty()) return std::nullopt;
  return IndexCheck(call.op, call.input(operand->input), std::move(*operand));
}

IndexCheck IndexCheck::of_axes(std::size_t first, std::size_t count,
                               const TensorType& type) const {
  const auto begin = operand_.axes.begin() + static_cast<std::ptrdiff_t>(first);
  const std::vector<IndexedAxis> axes(
      begin, begin + static_cast<std::ptrdiff_t>(count));
  return {*op_, type, {operand_.input, axes, operand_.from_end}};
}

void IndexCheck::operator()(const void* indices) const {
  // Indices are i32 or i64: inference refuses others.
  if (type_.dtype == DType::kI32)
    check(static_cast<const std::int32_t*>(indices));
  else
    check(static_cast<const std::int64_t*>(indices));
}

bool IndexCheck::is_outside(std::int64_t index, const IndexedAxis& axis) const {
  const std::int64_t begin =
      index < 0 && operand_.from_end ? index + axis.size : index;
  return begin < 0 || begin > axis.size - axis.count;
}

// Single elements of one axis, which is the common case. Where an index is
// inside, neither its distance from the first that is allowed nor that to the
// last is negative: the signs of all are gathered in one bit, in a loop of
// vectors.
template <class Index>
bool IndexCheck::is_all_inside(const Index* indices) const {
  const IndexedAxis& axis = operand_.axes.front();
  if (axis_count() > 1 || axis.count != 1) return false;
  const auto size = static_cast<std::uint64_t>(axis.size);
  const std::uint64_t below = operand_.from_end ? size : 0;
  const std::uint64_t last = below + size - 1;
  std::atomic<std::uint64_t> signs{0};
  parallel_for(type_.shape.num_elements(), kIndicesPerThread,
               [&](std::int64_t begin, std::int64_t end) {
                 std::uint64_t own = 0;
                 for (std::int64_t i = begin; i < end; ++i) {
                   // Unsigned, as a wild index may wrap around.
                   const auto index = static_cast<std::uint64_t>(
                       static_cast<std::int64_t>(indices[i]));
                   own |= (index + below) | (last - (index + below));
                 }
                 signs.fetch_or(own, std::memory_order_relaxed);
               });
  return (signs.load(std::memory_order_relaxed) >> 63) == 0;
}

// The place of what is wrong is looked for only if there may be something.
template <class Index>
void IndexCheck::check(const Index* indices) const {
  if (is_all_inside(indices)) return;
  const std::int64_t count = type_.shape.num_elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if (is_outside(indices[i], axis_at(i))) fail(indices[i], i);
  }
}

void IndexCheck::fail(std::int64_t value, std::int64_t place) const {
  const auto [size, count] = axis_at(place);
  std::string position;
  // The last axis changes fastest, so its position is the first remainder.
  for (int axis = type_.shape.rank() - 1; axis >= 0; --axis) {
    const Dim extent = type_.shape[axis];
    if (!position.empty()) position.insert(0, ", ");
    position.insert(0, std::to_string(place % extent));
    place /= extent;
  }
  IndexError error(ErrorCode::kInvalidArgument, op_->name(),
                   "{} is {} at [{}], outside of an axis of {}{}",
                   op_->input_name(operand_.input), value, position, size,
                   count == 1 ? "" : fmt::format(" for {} elements", count));
  error.detail("operand: " + to_string(type_));
  if (count == 1) {
    error.hint(fmt::format("it may be {} to {}", operand_.from_end ? -size : 0,
                           size - 1));
  } else {
    error.hint(fmt::format("it may be 0 to {}", size - count));
  }
  throw error;
}

}  // namespace weft
