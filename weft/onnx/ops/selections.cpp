// Elements that fulfil a condition. How many there are is a size, so the
// condition must be known while importing.
#include <algorithm>

#include "weft/onnx/elementwise.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

Value places_where(const Tensor& condition) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < condition.size(); ++i) {
    if (condition.item(i) != 0) places.push_back(i);
  }
  return Value(
      Tensor::of<std::int64_t>({static_cast<Dim>(places.size())}, places));
}

void import_compress(OnnxNode& node) {
  const Value places = places_where(node.known(1));
  const Value x = node.input(0);
  if (!node.has_attribute("axis")) {
    return node.set(gather(reshape(x, {-1}), places, 0));
  }
  node.set(gather(x, places, node.axis("axis", 0, x.shape().rank())));
}

// The indices along each axis, a row for each.
void import_non_zero(OnnxNode& node) {
  const Tensor x = node.known(0);
  const auto strides = row_major_strides(x.shape());
  const Tensor places = places_where(x).tensor();
  const Dim count = places.size();
  const int rank = x.shape().rank();
  Tensor indices = Tensor::empty({DType::kI64, {rank, count}});
  for (int axis = 0; axis < rank; ++axis) {
    const auto stride = strides[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < count; ++i) {
      indices.data<std::int64_t>()[axis * count + i] =
          places.data<std::int64_t>()[i] / stride % x.shape()[axis];
    }
  }
  node.set(Value(indices));
}

// These two of the traditional models select.
void import_array_feature_extractor(OnnxNode& node) {
  const Value x = node.input(0);
  const int last = std::max(0, x.shape().rank() - 1);
  node.set(gather(x, reshape(node.input(1), {-1}), last));
}

void import_binarizer(OnnxNode& node) {
  const double threshold = node.real("threshold", 0);
  node.set(elementwise(node, 1, [&](std::span<const Value> x) {
    return cast(greater(x[0], scalar_like(x[0], threshold)), x[0].dtype());
  }));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_selections(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Compress", .import = import_compress});
  ops.add({.name = "NonZero", .import = import_non_zero});
  ops.add({.name = "ArrayFeatureExtractor",
           .domain = "ai.onnx.ml",
           .since = 1,
           .import = import_array_feature_extractor});
  ops.add({.name = "Binarizer",
           .domain = "ai.onnx.ml",
           .since = 1,
           .import = import_binarizer});
}

}  // namespace weft
