#include "weft/ops/support/heads.h"

#include "weft/base/index.h"
#include "weft/tensor/symbol.h"

namespace weft {

HeadSizes::HeadSizes(const OpCall& call)
    : heads_(call.attributes.integer("heads")),
      has_length_first_(call.attributes.flag("length_first")) {
  if (heads_ < 1) throw call.error("there are {} heads", heads_);
  for (const char* name : {"first", "step"}) {
    if (call.attributes.integers(name).size() == 3) continue;
    throw call.error("'{}' has a number for query, key and value", name);
  }
  const Operand query = checked_operand(call, 0);
  const Operand key = checked_operand(call, 1);
  const Operand value = checked_operand(call, 2);
  if (query.batch != key.batch || query.batch != value.batch) {
    throw call.error("the batches of query, key and value differ");
  }
  if (widths_[0] != widths_[1]) {
    throw call.error("heads of queries have the width {}, of keys {}",
                     to_string(widths_[0]), to_string(widths_[1]));
  }
  if (key.length != value.length) {
    throw call.error("there are {} keys, but {} values", to_string(key.length),
                     to_string(value.length));
  }
  const DType dtype = call.input(0).dtype;
  if (!is_floating(dtype) || call.input(1).dtype != dtype ||
      call.input(2).dtype != dtype) {
    throw call.error("query, key and value must be floats of one dtype");
  }
  pairs_ = {query.batch, heads_, query.length, key.length};
  if (call.has_input(kMask)) check_mask(call);
  result_.dtype = dtype;
  const Dim width = value_width();
  if (call.attributes.flag("apart")) {
    result_.shape = {query.batch, heads_, query.length, width};
  } else if (has_length_first_) {
    result_.shape = {query.length, query.batch, dim_multiply(heads_, width)};
  } else {
    result_.shape = {query.batch, query.length, dim_multiply(heads_, width)};
  }
}

HeadSizes::Operand HeadSizes::checked_operand(const OpCall& call,
                                              std::size_t index) {
  const Shape& shape = call.input(index).shape;
  const char* name[] = {"query", "key", "value"};
  const std::int64_t first = call.attributes.integers("first")[index];
  std::int64_t step = call.attributes.integers("step")[index];
  if (shape.rank() == 4) {
    if (shape[1] != heads_) {
      throw call.error("the {} has {} heads, not {}", name[index],
                       to_string(shape[1]), heads_);
    }
    if (first != 0 || step != 0) {
      throw call.error("the heads of the {} are apart already", name[index]);
    }
    widths_[index] = shape[3];
    return {shape[0], shape[2]};
  }
  if (shape.rank() != 3) {
    throw call.error("the {} has {} axes", name[index], shape.rank())
        .hint(
            "[batch, length, columns], or [batch, heads, length, width] where "
            "its heads are apart");
  }
  const Dim columns = shape[2];
  if (is_symbolic(columns)) {
    throw call.error("the columns of the {} must be known", name[index]);
  }
  std::int64_t width =
      call.attributes.integer(index == 2 ? "value_width" : "width");
  if (width == 0) {
    if (columns % heads_ != 0) {
      throw call.error("the {} has {} columns, which {} heads do not share",
                       name[index], columns, heads_);
    }
    width = columns / heads_;
  }
  if (step == 0) step = width;
  // The last head has to end where the columns do, or before. Products of what
  // a file says could overflow.
  const bool ends_inside =
      first >= 0 && width >= 1 && step >= width && first <= columns &&
      width <= columns - first &&
      (heads_ == 1 || step <= (columns - first - width) / (heads_ - 1));
  if (!ends_inside) {
    throw call.error(
        "the {} has {} columns for {} heads of {}, {} apart, "
        "from {} on",
        name[index], columns, heads_, width, step, first);
  }
  widths_[index] = width;
  steps_[index] = step;
  return has_length_first_ ? Operand{shape[1], shape[0]}
                           : Operand{shape[0], shape[1]};
}

void HeadSizes::check_mask(const OpCall& call) const {
  const TensorType& mask = call.input(kMask);
  if (mask.dtype != DType::kBool && mask.dtype != call.input(0).dtype) {
    throw call.error("the mask is {}", to_string(mask.dtype))
        .hint(
            "bool, true where the query looks at the key, or a float that is "
            "added to the score");
  }
  const int extra = pairs_.rank() - mask.shape.rank();
  for (int axis = 0; axis < mask.shape.rank(); ++axis) {
    const Dim dim = mask.shape[axis];
    if (extra >= 0 && (dim == 1 || dim == pairs_[axis + extra])) continue;
    throw call.error("the mask does not broadcast to {}", to_string(pairs_));
  }
}

AttentionSizes HeadSizes::attention(const OpCall& call) const {
  const Shape* mask =
      call.has_input(kMask) ? &call.input(kMask).shape : nullptr;
  return {pairs_, widths_[0], widths_[2], call.attributes, mask};
}

HeadRows HeadSizes::operand(const OpCall& call, std::size_t index) const {
  const Shape& shape = call.input(index).shape;
  const std::size_t width = at(widths_[index]);
  const std::size_t heads = at(heads_);
  if (shape.rank() == 4) {
    const std::size_t matrix = at(shape[2]) * width;
    return {0, heads, heads * matrix, matrix, width};
  }
  const std::size_t columns = at(shape[2]);
  const std::size_t second = at(shape[1]) * columns;
  return {at(call.attributes.integers("first")[index]), heads,
          has_length_first_ ? columns : second, at(steps_[index]),
          has_length_first_ ? second : columns};
}

HeadRows HeadSizes::rows_of_result(const OpCall& call) const {
  const std::size_t width = at(value_width());
  const std::size_t heads = at(heads_);
  const std::size_t queries = at(pairs_[2]);
  if (call.attributes.flag("apart")) {
    return {0, heads, heads * queries * width, queries * width, width};
  }
  const std::size_t columns = heads * width;
  const std::size_t second = at(result_.shape[1]) * columns;
  return {0, heads, has_length_first_ ? columns : second, width,
          has_length_first_ ? second : columns};
}

}  // namespace weft
