// Normalizations. Those over channels are taken with channels last.
#include <algorithm>
#include <array>
#include <cmath>

#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/norm.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// The engine keeps scales and moments of halves in f32.
Value for_scale(const Value& x, DType of) {
  return to_dtype(x, of == DType::kF64 ? of : DType::kF32);
}

void import_batch_norm(OnnxNode& node) {
  const double epsilon = node.real("epsilon", 1e-5);
  const Value x = node.operand(0).last();
  const DType dtype = x.dtype();
  const Value scale = for_scale(node.input(1), dtype);
  const Value shift = for_scale(node.input(2), dtype);
  const Value mean = for_scale(node.input(3), dtype);
  const Value variance = for_scale(node.input(4), dtype);
  if (node.integer("training_mode", 0) == 0) {
    return node.set(OnnxValue::channels_last(
        batch_norm_infer(x, scale, shift, mean, variance, epsilon)));
  }
  const auto [y, batch_mean, batch_variance] =
      batch_norm(x, scale, shift, epsilon);
  const double kept = node.real("momentum", 0.9);
  node.set(0, OnnxValue::channels_last(y));
  node.set(1, mean * kept + batch_mean * (1 - kept));
  node.set(2, variance * kept + batch_variance * (1 - kept));
}

void import_instance_norm(OnnxNode& node) {
  const Value x = node.operand(0).last();
  const Dim channels = x.shape().back();
  if (is_symbolic(channels)) throw node.unsupported("unknown channels");
  node.set(OnnxValue::channels_last(
      group_norm(x, for_scale(node.input(1), x.dtype()),
                 for_scale(node.input(2), x.dtype()), channels,
                 node.real("epsilon", 1e-5))));
}

// Opset 18 had one scale for each group, 21 has one for each channel.
void import_group_norm(OnnxNode& node) {
  const Value x = node.operand(0).last();
  const Dim channels = x.shape().back();
  const std::int64_t groups = node.integer("num_groups");
  const auto for_channels = [&](std::size_t i) {
    Value given = for_scale(node.input(i), x.dtype());
    if (node.opset() >= 21 || given.shape()[0] == channels) return given;
    if (is_symbolic(channels) || groups < 1 || channels % groups != 0) {
      throw node.damaged("{} channels in {} groups", to_string(channels),
                         groups);
    }
    return reshape(
        broadcast_to(reshape(given, {groups, 1}), {groups, channels / groups}),
        {channels});
  };
  node.set(
      OnnxValue::channels_last(group_norm(x, for_channels(1), for_channels(2),
                                          groups, node.real("epsilon", 1e-5))));
}

// The last axes, from `axis` on, as one.
struct Rows {
  Shape whole;
  Shape flat;  // the leading axes and one for the row
  Shape kept;  // the leading axes and ones

  Rows(const Shape& shape, int axis) : whole(shape) {
    for (int i = 0; i < shape.rank(); ++i) {
      kept.push_back(i < axis ? shape[i] : 1);
      if (i < axis) flat.push_back(shape[i]);
    }
    flat.push_back(dim_product(shape.last(shape.rank() - axis)));
  }
};

// A scale over all of the row, as the engine has them; nothing for one that is
// different from row to row.
std::optional<Value> row_scale(const Value& given, const Rows& rows,
                               int normalized, DType dtype) {
  const Shape row(rows.whole.last(normalized));
  if (given.shape().rank() > normalized) {
    for (int i = 0; i < given.shape().rank() - normalized; ++i) {
      if (given.shape()[i] != 1) return std::nullopt;
    }
    return row_scale(reshape(given, Shape(given.shape().last(normalized))),
                     rows, normalized, dtype);
  }
  return reshape(for_scale(broadcast_to(given, row), dtype),
                 {rows.flat.back()});
}

// Mean and 1 / deviation of each row, in f32 or what is wider.
std::pair<Value, Value> row_moments(const Value& x, double epsilon) {
  const Value wide = for_scale(x, x.dtype());
  const Value average = mean(wide, {-1}, true);
  const Value variance = mean(square(wide - average), {-1}, true);
  return {average, rsqrt(variance + epsilon)};
}

void import_layer_norm(OnnxNode& node) {
  const double epsilon = node.real("epsilon", 1e-5);
  const Value x = node.input(0);
  const int rank = x.shape().rank();
  const int axis = node.axis("axis", -1, rank);
  const Rows rows(x.shape(), axis);
  const Value flat = reshaped(x, rows.flat);
  const auto ones = [&] { return full({x.dtype(), {}}, 1); };
  const auto scale =
      row_scale(node.input_or(1, ones()), rows, rank - axis, x.dtype());
  const auto shift =
      row_scale(node.has(2) ? node.input(2) : full({x.dtype(), {}}, 0), rows,
                rank - axis, x.dtype());
  if (scale && shift) {
    node.set(0, reshaped(layer_norm(flat, *scale, *shift, epsilon), x.shape()));
  }
  if (scale && shift && !node.wants(1) && !node.wants(2)) return;
  const auto [average, inverse] = row_moments(flat, epsilon);
  if (!scale || !shift) {
    const Value normal = reshape(
        to_dtype((for_scale(flat, x.dtype()) - average) * inverse, x.dtype()),
        x.shape());
    const Value scaled = normal * node.input_or(1, ones());
    node.set(0, node.has(2) ? scaled + node.input(2) : scaled);
  }
  node.set(1, reshape(average, rows.kept));
  node.set(2, reshape(inverse, rows.kept));
}

void import_rms_norm(OnnxNode& node) {
  const double epsilon = node.real("epsilon", 1e-5);
  const Value x = node.input(0);
  const int rank = x.shape().rank();
  const int axis = node.axis("axis", -1, rank);
  const Rows rows(x.shape(), axis);
  const Value flat = reshaped(x, rows.flat);
  const Value given = node.input(1);
  if (const auto scale = row_scale(given, rows, rank - axis, x.dtype())) {
    return node.set(reshaped(rms_norm(flat, *scale, epsilon), x.shape()));
  }
  const Value wide = for_scale(flat, x.dtype());
  const Value inverse = rsqrt(mean(square(wide), {-1}, true) + epsilon);
  node.set(reshape(to_dtype(wide * inverse, x.dtype()), x.shape()) * given);
}

// Krizhevsky et al., 2012: x / (bias + alpha / size Σ x²)^beta over `size`
// neighbouring channels.
void import_lrn(OnnxNode& node) {
  const std::int64_t size = node.integer("size");
  const double alpha = node.real("alpha", 1e-4);
  const double beta = node.real("beta", 0.75);
  const double bias = node.real("bias", 1);
  const Value x = node.operand(0).last();
  const int rank = x.shape().rank();
  const Dim channels = x.shape().back();
  // Each channel of a sum is a slice of its own.
  constexpr std::int64_t kMost = 4096;
  if (size < 1 || is_symbolic(channels) ||
      size > std::min(channels * 2, kMost)) {
    throw node.unsupported("sums {} of {} channels", size, to_string(channels));
  }
  Integers low(static_cast<std::size_t>(rank), 0);
  Integers high = low;
  low.back() = (size - 1) / 2;
  high.back() = size / 2;
  const Value squares = pad(square(x), low, high);
  Value total;
  for (std::int64_t k = 0; k < size; ++k) {
    const Value part = slice_axis(squares, -1, k, k + channels);
    total = total.is_defined() ? total + part : part;
  }
  const Value base = total * (alpha / static_cast<double>(size)) + bias;
  node.set(OnnxValue::channels_last(x * power(base, scalar_like(x, -beta))));
}

void import_lp_norm(OnnxNode& node) {
  const std::int64_t p = node.integer("p", 2);
  const InPlace x(node.operand(0));
  const Integers axes{x.axis(node.integer("axis", -1))};
  if (p != 1 && p != 2) throw node.unsupported("has no norm of p = {}", p);
  const Value norm = p == 1 ? sum(abs(x.value), axes, true)
                            : sqrt(sum(square(x.value), axes, true));
  // Numbers that are all 0 stay so.
  const Value zero = scalar_like(norm, 0);
  node.set(
      x.result(where(equal(norm, zero), scalar_like(norm, 0), x.value / norm)));
}

void import_mean_variance_norm(OnnxNode& node) {
  const Value x = node.input(0);
  const Integers axes = node.integers("axes", {0, 2, 3});
  const Value centred = x - mean(x, axes, true);
  const Value deviation = sqrt(mean(square(centred), axes, true));
  node.set(centred / (deviation + 1e-9));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_normalizations(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add(
      {.name = "BatchNormalization", .since = 7, .import = import_batch_norm});
  ops.add({.name = "InstanceNormalization",
           .since = 6,
           .import = import_instance_norm});
  ops.add({.name = "GroupNormalization", .import = import_group_norm});
  ops.add({.name = "LayerNormalization", .import = import_layer_norm});
  ops.add({.name = "RMSNormalization", .import = import_rms_norm});
  ops.add({.name = "LRN", .import = import_lrn});
  ops.add({.name = "LpNormalization", .import = import_lp_norm});
  ops.add({.name = "MeanVarianceNormalization",
           .import = import_mean_variance_norm});
}

}  // namespace weft
