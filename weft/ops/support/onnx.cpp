#include "weft/ops/support/onnx.h"

#include "weft/ops/shape.h"
#include "weft/ops/support/axes.h"

namespace weft {

OnnxOperands broadcast_operands(OnnxContext& c) {
  const int rank = c.call().outputs[0].shape.rank();
  OnnxOperands operands;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    operands.are_images = operands.are_images ||
                          (c.is_image(i) && c.type(i).shape.rank() == rank);
  }
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    operands.names.push_back(operands.are_images ? c.image(i, rank) : c.x(i));
  }
  return operands;
}

void set_like(OnnxContext& c, const OnnxOperands& operands,
              const std::string& name) {
  if (operands.are_images) {
    c.set_image(name);
  } else {
    c.set(name);
  }
}

void export_elementwise(OnnxContext& c, const std::string& op,
                        const Attributes& attributes) {
  const OnnxOperands operands = broadcast_operands(c);
  set_like(c, operands, c.emit(op, operands.names, attributes));
}

void export_negated(OnnxContext& c, const std::string& op) {
  const OnnxOperands operands = broadcast_operands(c);
  set_like(c, operands, c.emit("Not", {c.emit(op, operands.names)}));
}

void export_chain(OnnxContext& c, const std::string& first,
                  const std::string& second) {
  const OnnxOperands operands = broadcast_operands(c);
  set_like(c, operands, c.emit(second, {c.emit(first, operands.names)}));
}

std::int64_t onnx_axis(std::int64_t axis, int rank, bool is_image) {
  const std::int64_t at = resolved_axis(axis, rank);
  if (!is_image || at == 0) return at;
  return at == rank - 1 ? 1 : at + 1;
}

void export_along_axis(OnnxContext& c, const std::string& op) {
  const bool is_image = c.is_image(0);
  const int rank = c.type(0).shape.rank();
  const std::int64_t axis =
      onnx_axis(c.attributes().integer("axis"), rank, is_image);
  const std::string y =
      c.emit(op, {is_image ? c.image(0) : c.x(0)}, {{"axis", axis}});
  if (is_image) {
    c.set_image(y);
  } else {
    c.set(y);
  }
}

void export_reduction(OnnxContext& c, const std::string& op) {
  const int rank = c.type(0).shape.rank();
  const bool keep = c.attributes().flag("keep_dims");
  Integers axes = c.attributes().integers("axes");
  for (int axis = 0; axis < rank && c.attributes().integers("axes").empty();
       ++axis) {
    axes.push_back(axis);
  }
  for (std::int64_t& axis : axes) axis = resolved_axis(axis, rank);
  std::ranges::sort(axes);
  // Without the pixels, batch and channels stand in one order in both.
  Integers pixels;
  for (int axis = 1; axis < rank - 1; ++axis) pixels.push_back(axis);
  const bool is_image = c.is_image(0) && (keep || axes == pixels);
  for (std::int64_t& axis : axes) axis = onnx_axis(axis, rank, is_image);
  const Attributes attributes = {{"keepdims", std::int64_t{keep}}};
  const std::string x = is_image ? c.image(0) : c.x(0);
  // No axes would be all of them, which a scalar has none of.
  const std::string y = rank == 0 ? c.emit("Identity", {x})
                                  : c.emit(op, {x, c.list(axes)}, attributes);
  if (is_image && keep) {
    c.set_image(y);
  } else {
    c.set(y);
  }
}

void onnx_identity(OnnxContext& c) {
  if (c.is_image(0)) {
    c.set_image(c.image(0));
  } else {
    c.set(c.x(0));
  }
}

Tensor transposed(const Tensor& tensor, const Integers& permutation) {
  const ContextScope eager(eager_context());
  return transpose(Value(tensor), permutation).tensor();
}

std::string transposed_operand(OnnxContext& c, std::size_t input,
                               const Integers& permutation) {
  if (const Tensor* known = c.call().known_input(input)) {
    return c.constant(transposed(*known, permutation));
  }
  return c.emit("Transpose", {c.x(input)}, {{"perm", permutation}});
}

std::string with_onnx_activation(OnnxContext& c, const std::string& y) {
  return c.attributes().text("activation") == "relu" ? c.emit("Relu", {y}) : y;
}

Attributes onnx_windows(const Attributes& attributes) {
  const Integers& padding = attributes.integers("padding");
  return {{"strides", attributes.integers("strides")},
          {"pads", Integers{padding[0], padding[2], padding[1], padding[3]}},
          {"dilations", attributes.integers("dilation")},
          {"group", attributes.integer("groups")}};
}

void check_onnx_layer(OnnxContext& c, std::size_t first_inner) {
  for (std::size_t i = first_inner; i < c.call().outputs.size(); ++i) {
    if (c.is_read(i)) {
      throw c.unsupported("ONNX's layer does not return its gates");
    }
  }
  if (c.attributes().get<DType>("weights") != DType::kF32) {
    throw c.unsupported("ONNX's layer has no narrow weights");
  }
}

std::string onnx_gates(OnnxContext& c, std::size_t input,
                       const std::vector<int>& order) {
  const Shape& shape = c.type(input).shape;
  const auto gates = static_cast<std::int64_t>(order.size());
  const std::int64_t hidden = shape.back() / gates;
  const auto parts =
      c.emit("Split", {c.x(input), c.list(Integers(order.size(), hidden))},
             {{"axis", std::int64_t{shape.rank() - 1}}}, order.size());
  OnnxContext::Names blocks;
  for (const int gate : order) {
    blocks.push_back(parts[static_cast<std::size_t>(gate)]);
  }
  std::string all =
      c.emit("Concat", blocks, {{"axis", std::int64_t{shape.rank() - 1}}});
  if (shape.rank() == 2) {
    all = c.emit("Transpose", {all}, {{"perm", Integers{1, 0}}});
  }
  return c.emit("Unsqueeze", {all, c.list({0})});
}

std::string onnx_state(OnnxContext& c, std::size_t input) {
  return c.emit("Unsqueeze", {c.x(input), c.list({0})});
}

}  // namespace weft
