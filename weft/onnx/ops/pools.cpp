// Pools, over windows and over whole images.
#include <cmath>

#include "weft/base/index.h"
#include "weft/graph/registry.h"
#include "weft/onnx/elementwise.h"
#include "weft/onnx/pooling.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rounding.h"
#include "weft/ops/scatter.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

Shape image_shape(const OnnxNode& node) {
  const Shape shape = node.operand(0).type().shape;
  if (shape.rank() < 3) {
    throw node.damaged("an image of {} axes", shape.rank());
  }
  return shape;
}

Windows pool_windows(const OnnxNode& node) {
  return windows_of(node, node.integers("kernel_shape"),
                    spatial_dims(image_shape(node)));
}

// Pools compute in floats, which hold all integers of 8 bits.
template <class Pool>
Value in_floats(const Value& x, Pool&& pool) {
  if (is_floating(x.dtype())) return pool(x);
  return cast(pool(cast(x, DType::kF32)), x.dtype());
}

Value numbers_along(Dim count, int axis, std::int64_t step,
                    std::int64_t first) {
  Shape shape{1, 1, 1, 1};
  shape[axis] = count;
  return reshape(
      iota(count) * static_cast<double>(step) + static_cast<double>(first),
      shape);
}

// Where in [N, C, rows, columns] the maximum of each window stands.
Value flat_positions(const OnnxNode& node, const Value& x, const Value& taps,
                     const Windows& windows) {
  const Shape& image = x.shape();
  const Shape& shape = taps.shape();
  if (!image.is_static()) {
    throw node.unsupported("returns positions of images of unknown size");
  }
  const Value tap = cast(taps, DType::kI64);
  const auto columns = static_cast<double>(windows[1].kernel);
  const Value width = scalar_like(tap, columns);
  const Value row =
      floor_divide(tap, width) +
      numbers_along(shape[1], 1, windows[0].stride, -windows[0].before);
  const Value column =
      remainder(tap, width) +
      numbers_along(shape[2], 2, windows[1].stride, -windows[1].before);
  const bool by_columns = node.integer("storage_order", 0) != 0;
  const Value pixel = by_columns ? column * static_cast<double>(image[1]) + row
                                 : row * static_cast<double>(image[2]) + column;
  const Dim pixels = image[1] * image[2];
  return pixel + numbers_along(image[0], 0, pixels * image[3], 0) +
         numbers_along(image[3], 3, pixels, 0);
}

void import_max_pool(OnnxNode& node) {
  const Windows windows = pool_windows(node);
  const Value x = node.operand(0).last();
  if (node.wants(1)) {
    if (windows.size() != 2 || windows[0].dilation != 1 ||
        windows[1].dilation != 1) {
      throw node.unsupported(
          "returns positions in other windows than dense "
          "ones of two axes");
    }
    static const OpDef& op = op_registry().get("max_pool");
    const Value image = is_floating(x.dtype()) ? x : cast(x, DType::kF32);
    const auto both =
        call_all(op, {&image, 1},
                 {{"window", Integers{windows[0].kernel, windows[1].kernel}},
                  {"strides", Integers{windows[0].stride, windows[1].stride}},
                  {"padding", Integers{windows[0].before, windows[0].after,
                                       windows[1].before, windows[1].after}}},
                 {});
    node.set(0, OnnxValue::channels_last(to_dtype(both[0], x.dtype())));
    node.set(
        1, OnnxValue::channels_last(flat_positions(node, x, both[1], windows)));
    return;
  }
  node.set(OnnxValue::channels_last(
      in_floats(x, [&](const Value& y) { return pooled_max(y, windows); })));
}

// Padding may count, but never the pixels that ceil_mode lets windows hang
// over.
void import_average_pool(OnnxNode& node) {
  const bool counts_padding = node.integer("count_include_pad", 0) != 0;
  Windows windows = pool_windows(node);
  Value x = node.operand(0).last();
  if (counts_padding && node.integer("ceil_mode", 0) != 0) {
    const Windows said = padded_windows_of(node, node.integers("kernel_shape"),
                                           spatial_dims(image_shape(node)));
    Integers low(at(x.shape().rank()), 0);
    Integers high = low;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      low[i + 1] = said[i].before;
      high[i + 1] = std::min(said[i].after, windows[i].after);
      windows[i].before = 0;
      windows[i].after -= high[i + 1];
    }
    x = pad(x, low, high);
    return node.set(OnnxValue::channels_last(pooled_mean(x, windows, false)));
  }
  node.set(OnnxValue::channels_last(pooled_mean(x, windows, counts_padding)));
}

// (Σ |x|^p)^(1/p): a mean whose padding counts, times the number of taps.
void import_lp_pool(OnnxNode& node) {
  const auto p = static_cast<double>(node.integer("p", 2));
  const Windows windows = pool_windows(node);
  double taps = 1;
  for (const Taps& each : windows) taps *= static_cast<double>(each.kernel);
  const Value x = node.operand(0).last();
  const Value powers = power(abs(x), scalar_like(x, p));
  const Value sums = pooled_mean(powers, windows, true) * taps;
  node.set(OnnxValue::channels_last(power(sums, scalar_like(x, 1 / p))));
}

Integers pixels_of(const Value& image) {
  Integers axes;
  for (int axis = 1; axis < image.shape().rank() - 1; ++axis) {
    axes.push_back(axis);
  }
  return axes;
}

template <Value (*kReduce)(const Operand&, Integers, bool)>
void import_global_pool(OnnxNode& node) {
  const Value x = node.operand(0).last();
  node.set(OnnxValue::channels_last(kReduce(x, pixels_of(x), true)));
}

void import_global_lp_pool(OnnxNode& node) {
  const auto p = static_cast<double>(node.integer("p", 2));
  const Value x = node.operand(0).last();
  const Value sums = sum(power(abs(x), scalar_like(x, p)), pixels_of(x), true);
  node.set(OnnxValue::channels_last(power(sums, scalar_like(x, 1 / p))));
}

// The windows' maxima go back to where they stood in an image of zeros.
void import_max_unpool(OnnxNode& node) {
  const Shape shape = node.operand(0).type().shape;
  const Windows windows = plain_windows_of(node, node.integers("kernel_shape"));
  if (!shape.is_static()) {
    throw node.unsupported("makes an image of unknown size");
  }
  if (shape.rank() < 3 || windows.size() != spatial_dims(shape).size()) {
    throw node.damaged("windows of {} sides in {}", windows.size(),
                       to_string(shape));
  }
  Shape smallest{shape[0], shape[1]};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Taps& taps = windows[i];
    smallest.push_back((shape[static_cast<int>(i) + 2] - 1) * taps.stride -
                       taps.before - taps.after + taps.kernel);
  }
  Shape wanted = smallest;
  if (node.has(2)) {
    const Integers given = node.known_integers(2);
    wanted = Shape(std::span<const Dim>(given));
  }
  if (!wanted.is_static() || !smallest.is_static()) {
    throw node.damaged("an image of less than no pixels");
  }
  // Positions are those in the smallest image, whose rows may be shorter than
  // those of the one that is wanted.
  const Value flat =
      scatter_nd(full({node.input(0).dtype(), {smallest.num_elements()}}, 0),
                 reshape(node.input(1), {-1, 1}), reshape(node.input(0), {-1}));
  if (wanted.rank() != smallest.rank()) {
    throw node.damaged("an image {}", to_string(wanted));
  }
  Integers high;
  for (int axis = 0; axis < wanted.rank(); ++axis) {
    high.push_back(wanted[axis] - smallest[axis]);
  }
  node.set(pad(reshape(flat, smallest), Integers(high.size(), 0), high));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_pools(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "MaxPool", .import = import_max_pool});
  ops.add({.name = "AveragePool", .import = import_average_pool});
  ops.add({.name = "LpPool", .import = import_lp_pool});
  ops.add({.name = "GlobalAveragePool", .import = import_global_pool<mean>});
  ops.add({.name = "GlobalMaxPool", .import = import_global_pool<reduce_max>});
  ops.add({.name = "GlobalLpPool", .import = import_global_lp_pool});
  ops.add({.name = "MaxUnpool", .import = import_max_unpool});
}

}  // namespace weft
