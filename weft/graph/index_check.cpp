#include "weft/graph/index_check.h"

#include <algorithm>

namespace weft {

std::optional<IndexCheck> IndexCheck::of(const OpCall& call) {
  const auto operand = index_operand(call);
  // An axis without elements has been refused by inference, unless there are no
  // indices either.
  if (!operand || operand->size == 0) return std::nullopt;
  return IndexCheck(call.op, call.input(operand->input), *operand);
}

void IndexCheck::operator()(const void* indices) const {
  // Indices are i32 or i64: inference refuses others.
  if (type_.dtype == DType::kI32)
    check(static_cast<const std::int32_t*>(indices));
  else
    check(static_cast<const std::int64_t*>(indices));
}

// The extremes come first, which is a loop of vectors; the place of what is
// wrong is looked for only if there is something.
template <class Index>
void IndexCheck::check(const Index* indices) const {
  const std::int64_t count = type_.shape.num_elements();
  const std::int64_t first = operand_.from_end ? -operand_.size : 0;
  // Zero is within every axis, so the extremes may begin there.
  Index least = 0;
  Index most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    least = std::min(least, indices[i]);
    most = std::max(most, indices[i]);
  }
  if (least >= first && most < operand_.size) return;
  const auto is_outside = [&](Index index) {
    return index < first || index >= operand_.size;
  };
  const Index* bad = std::find_if(indices, indices + count, is_outside);
  fail(*bad, bad - indices);
}

void IndexCheck::fail(std::int64_t value, std::int64_t place) const {
  std::string position;
  // The last axis changes fastest, so its position is the first remainder.
  for (int axis = type_.shape.rank() - 1; axis >= 0; --axis) {
    const Dim size = type_.shape[axis];
    position = std::to_string(place % size) +
               (position.empty() ? "" : ", " + position);
    place /= size;
  }
  IndexError error(ErrorCode::kInvalidArgument, op_->name(),
                   "{} is {} at [{}], outside of an axis of {}",
                   op_->input_name(operand_.input), value, position,
                   operand_.size);
  error.detail("operand: " + to_string(type_));
  error.hint(fmt::format("it may be {} to {}",
                         operand_.from_end ? -operand_.size : 0,
                         operand_.size - 1));
  throw error;
}

}  // namespace weft
