// What onnxruntime's quantizer writes beside ONNX's own ops (domain
// com.microsoft): each takes quantized operands, computes in floats and
// quantizes the result, or multiplies integers.
#include <array>

#include "weft/onnx/elementwise.h"
#include "weft/onnx/pooling.h"
#include "weft/onnx/quantized.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/join.h"
#include "weft/ops/loss.h"
#include "weft/ops/quantize.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

constexpr const char* kContrib = "com.microsoft";

Value one_number(const Value& x) { return reshaped(x, {}); }

// Operand `first` with its scale and zero point behind it, in floats and in the
// order of axes in which it is there.
OnnxValue in_floats_of(const OnnxNode& node, std::size_t first) {
  const InPlace q(node.operand(first));
  const Value scale = one_number(node.input(first + 1));
  return q.result(
      node.has(first + 2)
          ? dequantize(q.value, scale, one_number(node.input(first + 2)))
          : dequantize(q.value, scale));
}

// The result by a scale and a zero point, which stand at `scale` and behind it.
void set_quantized(OnnxNode& node, const OnnxValue& y, std::size_t scale) {
  const InPlace place(y);
  const Value zero = one_number(node.input(scale + 1));
  node.set(place.result(quantize(place.value, one_number(node.input(scale)),
                                 zero, {zero.dtype()})));
}

template <Value (*kFunction)(const Operand&, const Operand&)>
void import_quantized_binary(OnnxNode& node) {
  const std::array operands = {in_floats_of(node, 0), in_floats_of(node, 3)};
  set_quantized(node,
                elementwise(operands,
                            [](std::span<const Value> x) {
                              return kFunction(x[0], x[1]);
                            }),
                6);
}

// Its own, of one operand; the result's scale is operand 3.
template <class Function>
void set_quantized_unary(OnnxNode& node, Function&& function) {
  const InPlace x(in_floats_of(node, 0));
  set_quantized(node, x.result(function(x)), 3);
}

void import_quantized_sigmoid(OnnxNode& node) {
  set_quantized_unary(node, [](const InPlace& x) { return sigmoid(x.value); });
}

void import_quantized_leaky_relu(OnnxNode& node) {
  const double alpha = node.real("alpha", 0.01);
  set_quantized_unary(node, [&](const InPlace& x) {
    const Value& value = x.value;
    return where(less(value, scalar_like(value, 0)), value * alpha, value);
  });
}

void import_quantized_softmax(OnnxNode& node) {
  const std::int64_t axis = node.integer("axis", -1);
  set_quantized_unary(
      node, [&](const InPlace& x) { return softmax(x.value, x.axis(axis)); });
}

// Images may have their channels last here.
Value image_of(const OnnxNode& node, bool has_channels_last) {
  const OnnxValue x = in_floats_of(node, 0);
  return has_channels_last ? x.plain() : x.last();
}

OnnxValue image_result(const Value& y, bool has_channels_last) {
  return has_channels_last ? OnnxValue(y) : OnnxValue::channels_last(y);
}

void import_quantized_global_pool(OnnxNode& node) {
  const bool is_last = node.integer("channels_last", 0) != 0;
  const Value x = image_of(node, is_last);
  Integers pixels;
  for (int axis = 1; axis < x.shape().rank() - 1; ++axis) {
    pixels.push_back(axis);
  }
  set_quantized(node, image_result(mean(x, pixels, true), is_last), 3);
}

void import_quantized_pool(OnnxNode& node) {
  const bool is_last = node.integer("channels_last", 0) != 0;
  const Value x = image_of(node, is_last);
  const Shape& shape = x.shape();
  const auto pixels = shape.last(shape.rank() - 1)
                          .first(static_cast<std::size_t>(shape.rank() - 2));
  const Windows windows =
      windows_of(node, node.integers("kernel_shape"), pixels);
  const Value y =
      pooled_mean(x, windows, node.integer("count_include_pad", 0) != 0);
  set_quantized(node, image_result(y, is_last), 3);
}

// The result's scale and zero point come first, then each part with its own.
void import_quantized_concat(OnnxNode& node) {
  std::vector<OnnxValue> parts;
  bool is_image = false;
  for (std::size_t i = 2; i + 2 < node.operand_count(); i += 3) {
    parts.push_back(in_floats_of(node, i));
    is_image = is_image || parts.back().is_channels_last();
  }
  if (parts.empty()) throw node.damaged("has no parts");
  const int rank = parts[0].rank();
  const int axis = node.axis("axis", 1, rank);
  std::vector<Value> values;
  for (const OnnxValue& part : parts) {
    values.push_back(is_image ? part.last() : part.plain());
  }
  const Value all =
      concat(values, is_image ? axis_with_channels_last(axis, rank) : axis);
  set_quantized(node, is_image ? OnnxValue::channels_last(all) : OnnxValue(all),
                0);
}

// A product of integers, with a bias of i32 in the scale of the product.
void import_quantized_gemm(OnnxNode& node) {
  const auto turned = [&](std::size_t i, const char* attribute) {
    Value x = node.input(i);
    if (node.integer(attribute, 0) == 0) return x;
    const ContextScope scope(x.is_staged() ? current_context()
                                           : eager_context());
    return transpose(x);
  };
  const auto numbers = [&](std::size_t i) {
    const Value x = node.input(i);
    return x.shape() == Shape{1} ? reshaped(x, {}) : x;
  };
  Value sums = integer_product(turned(0, "transA"), numbers(2),
                               turned(3, "transB"), numbers(5));
  if (node.has(6)) sums = sums + node.input(6);
  const Value scale = numbers(1) * numbers(4);
  const Value y = cast(sums, scale.dtype()) * scale * node.real("alpha", 1);
  if (!node.has(7)) return node.set(y);
  set_quantized(node, y, 7);
}

// What a product of quantized numbers is followed by, in one op.
void import_matmul_integer_to_float(OnnxNode& node) {
  const Value sums = integer_product(node.input(0), node.input_or(4, {}),
                                     node.input(1), node.input_or(5, {}));
  const Value scale = node.input(2) * node.input(3);
  const Value y = cast(sums, scale.dtype()) * scale;
  node.set(node.has(6) ? y + node.input(6) : y);
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_contrib(OnnxRegistry& ops) {
  using namespace onnx;
  const std::pair<const char*, ImportFunction> quantized[] = {
      {"MatMulIntegerToFloat", import_matmul_integer_to_float},
      {"QGemm", import_quantized_gemm},
      {"QLinearAdd", import_quantized_binary<add>},
      {"QLinearAveragePool", import_quantized_pool},
      {"QLinearConcat", import_quantized_concat},
      {"QLinearGlobalAveragePool", import_quantized_global_pool},
      {"QLinearLeakyRelu", import_quantized_leaky_relu},
      {"QLinearMul", import_quantized_binary<multiply>},
      {"QLinearSigmoid", import_quantized_sigmoid},
      {"QLinearSoftmax", import_quantized_softmax},
  };
  for (const auto& [name, import] : quantized) {
    ops.add({.name = name, .domain = kContrib, .since = 1, .import = import});
  }
}

}  // namespace weft
