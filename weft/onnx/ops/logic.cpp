// Comparison, logic, bits, and the choice by a condition.
#include <algorithm>

#include "weft/onnx/elementwise.h"
#include "weft/onnx/extents.h"
#include "weft/ops/bits.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"

namespace weft::onnx {
namespace {

// Two lists of numbers of shapes, whose comparison is certain.
std::optional<OnnxValue> compared_extents(const OnnxValue& a,
                                          const OnnxValue& b) {
  if (!a.is_symbolic() && !b.is_symbolic()) return std::nullopt;
  const auto left = a.extents();
  const auto right = b.extents();
  if (!left || !right) return std::nullopt;
  const std::size_t count = std::max(left->size(), right->size());
  if ((left->size() != count && left->size() != 1) ||
      (right->size() != count && right->size() != 1)) {
    return std::nullopt;
  }
  Shape shape;
  if (a.rank() > 0 || b.rank() > 0) shape.push_back(static_cast<Dim>(count));
  Tensor truths = Tensor::empty({DType::kBool, shape});
  for (std::size_t i = 0; i < count; ++i) {
    const auto truth = extents_equal((*left)[left->size() == 1 ? 0 : i],
                                     (*right)[right->size() == 1 ? 0 : i]);
    if (!truth) return std::nullopt;
    truths.data<bool>()[i] = *truth;
  }
  return OnnxValue(Value(truths));
}

void import_equal(OnnxNode& node) {
  if (auto known = compared_extents(node.operand(0), node.operand(1))) {
    return node.set(std::move(*known));
  }
  import_binary<equal>(node);
}

// A choice among numbers of shapes, as exporters write for "-1 keeps the dim".
std::optional<OnnxValue> chosen_extents(const OnnxNode& node) {
  if (!node.operand(1).is_symbolic() && !node.operand(2).is_symbolic()) {
    return std::nullopt;
  }
  const auto a = node.operand(1).extents();
  const auto b = node.operand(2).extents();
  if (!node.operand(0).is_known() || !a || !b) return std::nullopt;
  const Tensor truths = node.known(0);
  const std::size_t count =
      std::max({a->size(), b->size(), static_cast<std::size_t>(truths.size())});
  const auto at_most = [&](std::size_t size) {
    return size == count || size == 1;
  };
  if (!at_most(a->size()) || !at_most(b->size()) ||
      !at_most(static_cast<std::size_t>(truths.size())) ||
      truths.shape().rank() > 1) {
    return std::nullopt;
  }
  Extents chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const bool truth =
        truths.item(truths.size() == 1 ? 0 : static_cast<std::int64_t>(i)) != 0;
    const Extents& from = truth ? *a : *b;
    chosen.push_back(from[from.size() == 1 ? 0 : i]);
  }
  const bool is_scalar = node.operand(0).rank() == 0 &&
                         node.operand(1).rank() == 0 &&
                         node.operand(2).rank() == 0;
  return OnnxValue::of(std::move(chosen), is_scalar,
                       node.operand(1).type().dtype);
}

void import_where(OnnxNode& node) {
  if (auto chosen = chosen_extents(node)) return node.set(std::move(*chosen));
  node.set(elementwise(node, 3, [](std::span<const Value> x) {
    return where(x[0], x[1], x[2]);
  }));
}

void import_shift(OnnxNode& node) {
  const std::string direction = node.text("direction");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw node.damaged("shifts neither LEFT nor RIGHT");
  }
  node.set(elementwise(node, 2, [&](std::span<const Value> x) {
    return direction == "LEFT" ? shift_left(x[0], x[1])
                               : shift_right(x[0], x[1]);
  }));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_logic(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Equal", .import = import_equal});
  ops.add({.name = "Less", .import = import_binary<less>});
  ops.add({.name = "LessOrEqual", .import = import_binary<less_equal>});
  ops.add({.name = "Greater", .import = import_binary<greater>});
  ops.add({.name = "GreaterOrEqual", .import = import_binary<greater_equal>});
  ops.add({.name = "And", .import = import_binary<logical_and>});
  ops.add({.name = "Or", .import = import_binary<logical_or>});
  ops.add({.name = "Xor", .import = import_binary<logical_xor>});
  ops.add({.name = "BitwiseAnd", .import = import_binary<bitwise_and>});
  ops.add({.name = "BitwiseOr", .import = import_binary<bitwise_or>});
  ops.add({.name = "BitwiseXor", .import = import_binary<bitwise_xor>});
  ops.add({.name = "BitShift", .import = import_shift});
  ops.add({.name = "Where", .import = import_where});
}

}  // namespace weft
