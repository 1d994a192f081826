#include "weft/onnx/elementwise.h"

#include <algorithm>

#include "weft/ops/shape.h"

namespace weft::onnx {
namespace {

// The operand as an image of that many axes, with channels last.
Value as_image(const OnnxValue& operand, int rank) {
  if (operand.rank() == rank) return operand.last();
  const Shape shape = operand.type().shape;
  if (shape.is_scalar()) return operand.plain();
  Shape padded;
  padded.resize(rank - shape.rank(), 1);
  for (const Dim dim : shape) padded.push_back(dim);
  // What is known is put in order now, and only once.
  const ContextScope scope(operand.is_known() ? eager_context()
                                              : current_context());
  return OnnxValue(reshape(operand.plain(), padded)).last();
}

}  // namespace

OnnxValue elementwise(std::span<const OnnxValue> operands,
                      const ElementwiseFunction& function) {
  int rank = 0;
  for (const OnnxValue& x : operands) rank = std::max(rank, x.rank());
  const bool is_image = std::ranges::any_of(operands, [&](const OnnxValue& x) {
    return x.is_channels_last() && x.rank() == rank;
  });
  std::vector<Value> values;
  for (const OnnxValue& x : operands) {
    values.push_back(is_image ? as_image(x, rank) : x.plain());
  }
  Value made = function(values);
  if (is_image) return OnnxValue::channels_last(std::move(made));
  return made;
}

OnnxValue elementwise(const OnnxNode& node, std::size_t least,
                      const ElementwiseFunction& function) {
  std::vector<OnnxValue> operands;
  for (std::size_t i = 0; i < std::max(least, node.operand_count()); ++i) {
    operands.push_back(node.operand(i));
  }
  return elementwise(operands, function);
}

int axis_with_channels_last(int axis, int rank) {
  if (axis == 0) return 0;
  return axis == 1 ? rank - 1 : axis - 1;
}

InPlace::InPlace(const OnnxValue& from)
    : value(from.is_channels_last() ? from.last() : from.plain()),
      is_last(from.is_channels_last()) {}

int InPlace::axis(std::int64_t onnx_axis) const {
  const int rank = value.shape().rank();
  const int axis = normalize_axis(onnx_axis, rank, "onnx");
  return is_last ? axis_with_channels_last(axis, rank) : axis;
}

OnnxValue InPlace::result(Value made) const {
  if (is_last) return OnnxValue::channels_last(std::move(made));
  return made;
}

}  // namespace weft::onnx
