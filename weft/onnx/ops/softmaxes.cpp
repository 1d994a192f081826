// Softmax along an axis, and losses made of it.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/index.h"
#include "weft/ops/loss.h"
#include "weft/ops/pick.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

using AlongAxis = Value (*)(const Operand&, std::int64_t);

// Before opset 13 all axes from `axis` on were one.
template <AlongAxis kFunction>
void import_softmax(OnnxNode& node) {
  const OnnxValue& x = node.operand(0);
  const Shape shape = x.type().shape;
  if (node.opset() < 13) {
    const int axis = node.axis("axis", 1, shape.rank());
    const Value flat =
        reshape(x.plain(), {dim_product(shape.first(axis)),
                            dim_product(shape.last(shape.rank() - axis))});
    return node.set(reshape(kFunction(flat, -1), shape));
  }
  const InPlace place(x);
  node.set(place.result(
      kFunction(place.value, place.axis(node.integer("axis", -1)))));
}

// One at the first of the largest, else zero.
Value hardmax(const Operand& x, std::int64_t axis) {
  const Value& value = *x.value;
  const Shape& shape = value.shape();
  Shape along;
  along.resize(shape.rank(), 1);
  const int at = normalize_axis(axis, shape.rank(), "Hardmax");
  along[at] = shape[at];
  const Value first = argmax(value, axis, true);
  return cast(equal(reshape(iota(shape[at]), along), first), value.dtype());
}

// Losses over the classes, the second axis, reduced over all else.
Value reduced_loss(const OnnxNode& node, const Value& losses,
                   const Value& weights) {
  const std::string reduction = node.text("reduction", "mean");
  if (reduction == "none") return losses;
  if (reduction == "sum") return sum(losses);
  if (reduction != "mean") throw node.damaged("reduces by '{}'", reduction);
  return weights.is_defined() ? sum(losses) / sum(weights) : mean(losses);
}

Value negative_log_likelihood(const OnnxNode& node, const Value& logs) {
  const Value labels = node.input(1);
  // [N, C, d…] and [N, d…]: the classes go to the end, where one is picked.
  const Value last = OnnxValue(logs).last();
  Value known = to_dtype(labels, DType::kI64);
  Value counts;
  if (node.has_attribute("ignore_index")) {
    const Value ignored =
        scalar_like(known, static_cast<double>(node.integer("ignore_index")));
    const Value stays = not_equal(known, ignored);
    known = where(stays, known, scalar_like(known, 0));
    counts = cast(stays, logs.dtype());
  }
  Value losses = negate(pick(last, known));
  if (node.has(2)) {
    const Value each = gather(node.input(2), known);
    counts = counts.is_defined() ? counts * each : each;
  }
  if (counts.is_defined()) losses = losses * counts;
  return reduced_loss(node, losses, counts);
}

void import_likelihood_loss(OnnxNode& node) {
  node.set(negative_log_likelihood(node, node.input(0)));
}

void import_cross_entropy_loss(OnnxNode& node) {
  const Value logs = log_softmax(node.input(0), 1);
  node.set(0, negative_log_likelihood(node, logs));
  node.set(1, logs);
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_softmaxes(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Softmax", .import = import_softmax<softmax>});
  ops.add({.name = "LogSoftmax", .import = import_softmax<log_softmax>});
  ops.add({.name = "Hardmax", .import = import_softmax<hardmax>});
  ops.add(
      {.name = "NegativeLogLikelihoodLoss", .import = import_likelihood_loss});
  ops.add(
      {.name = "SoftmaxCrossEntropyLoss", .import = import_cross_entropy_loss});
}

}  // namespace weft
