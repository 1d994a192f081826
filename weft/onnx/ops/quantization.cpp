// Quantized numbers: the ops that make and take them, and products of them.
#include <algorithm>

#include "weft/onnx/elementwise.h"
#include "weft/onnx/quantized.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/quantize.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rounding.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// Scales of one element, or of one for each position of an axis; those of
// blocks have as many axes as what they scale.
bool has_blocks(const OnnxNode& node) {
  return node.integer("block_size", 0) != 0;
}

// Scales of blocks, repeated so that each element has its own.
Value repeated_scales(const OnnxNode& node, const Value& scales, int axis) {
  const std::int64_t size = node.integer("block_size");
  if (size < 1 || size > 1 << 20) throw node.damaged("blocks of {}", size);
  if (axis >= scales.shape().rank()) {
    throw node.damaged("blocks along axis {} with scales {}", axis,
                       to_string(scales.shape()));
  }
  Shape apart = scales.shape();
  Shape repeated = apart;
  apart = {};
  for (int i = 0; i < scales.shape().rank(); ++i) {
    apart.push_back(scales.shape()[i]);
    if (i == axis) apart.push_back(1);
  }
  repeated = apart;
  repeated[axis + 1] = size;
  Shape joined = scales.shape();
  joined[axis] = dim_multiply(joined[axis], size);
  return reshape(broadcast_to(reshape(scales, apart), repeated), joined);
}

Value as_vector_or_scalar(const Value& x) {
  return x.shape().rank() == 1 && x.shape()[0] == 1 ? reshaped(x, {}) : x;
}

// The dtype that an attribute names; 0, ONNX's default, names none.
DType named_dtype(const OnnxNode& node, const char* name, DType otherwise) {
  return node.integer(name, 0) == 0 ? otherwise : node.dtype(name, otherwise);
}

DType quantized_dtype_of(const OnnxNode& node) {
  if (node.has(2)) return node.operand(2).type().dtype;
  return named_dtype(node, "output_dtype", DType::kU8);
}

// Quotients are of the scale's dtype, which is also ONNX's default.
void check_precision(const OnnxNode& node, DType scale) {
  const DType wanted = named_dtype(node, "precision", scale);
  if (wanted == scale) return;
  throw node.unsupported("divides in {} by scales of {}", to_string(wanted),
                         to_string(scale));
}

// What one of the ops quantize and dequantize cannot do, as elementwise ops:
// integers of 16 bits, and scales of blocks.
Value quantized_by_parts(const Value& x, const Value& scale, const Value& zero,
                         DType dtype) {
  const double low =
      dtype == DType::kI16 ? -32768 : (dtype == DType::kI8 ? -128 : 0);
  const double high =
      dtype == DType::kI16 ? 32767 : (dtype == DType::kI8 ? 127 : 255);
  Value q = round(to_dtype(x, scale.dtype()) / scale);
  if (zero.is_defined()) q = q + cast(zero, q.dtype());
  return cast(clamp(q, low, high), dtype);
}

void import_quantize_linear(OnnxNode& node) {
  const DType dtype = quantized_dtype_of(node);
  if (dtype != DType::kI8 && dtype != DType::kU8 && dtype != DType::kI16) {
    throw node.unsupported("quantizes to {}", to_string(dtype));
  }
  const InPlace x(node.operand(0));
  const int rank = x.value.shape().rank();
  check_precision(node, node.operand(1).type().dtype);
  if (has_blocks(node)) {
    const int at = node.axis("axis", 1, rank);
    return node.set(quantized_by_parts(
        node.input(0), repeated_scales(node, node.input(1), at),
        node.has(2) ? repeated_scales(node, node.input(2), at) : Value(),
        dtype));
  }
  const Value scale = as_vector_or_scalar(node.input(1));
  const Value zero = node.has(2) ? as_vector_or_scalar(node.input(2)) : Value();
  const std::int64_t axis =
      scale.shape().is_scalar() ? 0 : node.axis("axis", 1, rank);
  if (dtype == DType::kI16) {
    Shape along;
    along.resize(rank, 1);
    if (!scale.shape().is_scalar()) along[x.axis(axis)] = scale.shape()[0];
    return node.set(x.result(quantized_by_parts(
        x.value, reshape(scale, along),
        zero.is_defined() ? reshape(zero, along) : Value(), dtype)));
  }
  const QuantizeOptions options{dtype, rank == 0 ? -1 : x.axis(axis)};
  node.set(x.result(zero.is_defined() ? quantize(x.value, scale, zero, options)
                                      : quantize(x.value, scale, options)));
}

void import_dequantize_linear(OnnxNode& node) {
  const InPlace q(node.operand(0));
  const int rank = q.value.shape().rank();
  const DType from = node.operand(1).type().dtype;
  const DType dtype = named_dtype(node, "output_dtype", from);
  if (has_blocks(node)) {
    const int at = node.axis("axis", 1, rank);
    Value x = cast(node.input(0), from);
    if (node.has(2)) {
      x = x - cast(repeated_scales(node, node.input(2), at), from);
    }
    return node.set(
        to_dtype(x * repeated_scales(node, node.input(1), at), dtype));
  }
  const Value scale = as_vector_or_scalar(node.input(1));
  const Value zero = node.has(2) ? as_vector_or_scalar(node.input(2)) : Value();
  const std::int64_t axis =
      scale.shape().is_scalar() ? 0 : node.axis("axis", 1, rank);
  const std::int64_t in_place = rank == 0 ? -1 : q.axis(axis);
  const Value x = zero.is_defined() ? dequantize(q.value, scale, zero, in_place)
                                    : dequantize(q.value, scale, in_place);
  // Products of the integers are of the scale's dtype.
  if (dtype != from) return node.set(q.result(to_dtype(x, dtype)));
  node.set(OnnxValue::dequantized(q.result(x),
                                  {node.operand(0), scale, zero, axis}));
}

// The range of x with 0 in it is cut into 255 steps.
void import_dynamic_quantize(OnnxNode& node) {
  const Value x = node.input(0);
  const Value zero = scalar_like(x, 0);
  const Value high = maximum(reduce_max(x), zero);
  const Value low = minimum(reduce_min(x), zero);
  const Value width = high - low;
  // Numbers that are all 0 have no range; any scale will do.
  const Value scale = where(equal(width, zero), scalar_like(x, 1), width / 255);
  const Value zero_point =
      cast(clamp(round(negate(low) / scale), 0, 255), DType::kU8);
  node.set(0, quantize(x, scale, zero_point, {DType::kU8}));
  node.set(1, scale);
  node.set(2, zero_point);
}

void import_matmul_integer(OnnxNode& node) {
  node.set(integer_product(node.input(0), node.input_or(2, {}), node.input(1),
                           node.input_or(3, {})));
}

void import_qlinear_matmul(OnnxNode& node) {
  const auto rows = [](const Value& scale) {
    // One for each row of the left operand.
    return scale.shape().rank() == 1 && scale.shape()[0] != 1
               ? reshape(scale, {scale.shape()[0], 1})
               : as_vector_or_scalar(scale);
  };
  const Value sums =
      integer_product(node.input(0), as_vector_or_scalar(node.input(2)),
                      node.input(3), as_vector_or_scalar(node.input(5)));
  const Value scale = rows(node.input(1)) * as_vector_or_scalar(node.input(4));
  const Value y = cast(sums, scale.dtype()) * scale;
  const Value zero = as_vector_or_scalar(node.input(7));
  node.set(
      quantize(y, as_vector_or_scalar(node.input(6)), zero, {zero.dtype()}));
}

Windows integer_windows(const OnnxNode& node, std::size_t weights) {
  const Shape image = node.operand(0).type().shape;
  const Shape shape = node.operand(weights).type().shape;
  if (image.rank() < 3 || shape.rank() != image.rank()) {
    throw node.damaged("an image of {} axes and weights of {}", image.rank(),
                       shape.rank());
  }
  const auto kernel = spatial_dims(shape);
  return windows_of(node, Integers(kernel.begin(), kernel.end()),
                    spatial_dims(image));
}

void import_conv_integer(OnnxNode& node) {
  node.set(OnnxValue::channels_last(
      integer_convolution(node.operand(0).last(), node.input_or(2, {}),
                          node.operand(1), node.input_or(3, {}),
                          integer_windows(node, 1), node.integer("group", 1))));
}

void import_qlinear_conv(OnnxNode& node) {
  Value sums = integer_convolution(
      node.operand(0).last(), as_vector_or_scalar(node.input(2)),
      node.operand(3), as_vector_or_scalar(node.input(5)),
      integer_windows(node, 3), node.integer("group", 1));
  if (node.has(8)) sums = sums + node.input(8);
  const Value scale =
      as_vector_or_scalar(node.input(1)) * as_vector_or_scalar(node.input(4));
  const Value zero = as_vector_or_scalar(node.input(7));
  node.set(OnnxValue::channels_last(quantize(dequantize(sums, scale),
                                             as_vector_or_scalar(node.input(6)),
                                             zero, {zero.dtype()})));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_quantization(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "QuantizeLinear", .import = import_quantize_linear});
  ops.add({.name = "DequantizeLinear", .import = import_dequantize_linear});
  ops.add({.name = "DynamicQuantizeLinear", .import = import_dynamic_quantize});
  ops.add({.name = "MatMulInteger", .import = import_matmul_integer});
  ops.add({.name = "QLinearMatMul", .import = import_qlinear_matmul});
  ops.add({.name = "ConvInteger", .import = import_conv_integer});
  ops.add({.name = "QLinearConv", .import = import_qlinear_conv});
}

}  // namespace weft
