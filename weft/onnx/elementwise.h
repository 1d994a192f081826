// What importers of elementwise ops have in common.
//
// Threads: as OnnxNode.
#pragma once

#include <functional>
#include <span>

#include "weft/onnx/node.h"

namespace weft::onnx {

using ElementwiseFunction = std::function<Value(std::span<const Value>)>;

// A function of operands that broadcast. Where one of them is an image that is
// there with channels last, all are taken in that order, and so is the result.
OnnxValue elementwise(std::span<const OnnxValue> operands,
                      const ElementwiseFunction& function);
// The same of all operands of a node, which must be `least` at least.
OnnxValue elementwise(const OnnxNode& node, std::size_t least,
                      const ElementwiseFunction& function);

// The importer of an op that is a function of one Value.
template <Value (*kFunction)(const Operand&)>
void import_unary(OnnxNode& node) {
  node.set(elementwise(
      node, 1, [](std::span<const Value> x) { return kFunction(x[0]); }));
}

// The importer of an op that is a function of two.
template <Value (*kFunction)(const Operand&, const Operand&)>
void import_binary(OnnxNode& node) {
  node.set(elementwise(
      node, 2, [](std::span<const Value> x) { return kFunction(x[0], x[1]); }));
}

// Where an axis in ONNX's order is with channels last.
int axis_with_channels_last(int axis, int rank);
// The value in the order that it is there in, without a transposition, and the
// place of an axis of ONNX's there.
struct InPlace {
  Value value;
  bool is_last = false;

  explicit InPlace(const OnnxValue& from);
  int axis(std::int64_t onnx_axis) const;
  // What has been computed from it in the same order.
  OnnxValue result(Value made) const;
};

}  // namespace weft::onnx
