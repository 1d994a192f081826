// Pixels of regions, and of windows whose taps are moved: both are weighed from
// the four that lie around a place.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/convolution.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/matmul.h"
#include "weft/ops/reduce.h"
#include "weft/ops/scatter.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// The parts of the four pixels around [n, points] places in images [n, rows,
// columns, C]: each [n, points, C], with its weight.
std::vector<Value> four_parts(const Value& images, const Value& rows,
                              const Value& columns, bool zero_outside) {
  const Shape& s = images.shape();
  const Dim n = rows.shape()[0];
  const Dim points = rows.shape()[1];
  const Value flat = reshape(images, {s[0], s[1] * s[2], s[3]});
  const Value top = floor(rows);
  const Value left = floor(columns);
  std::vector<Value> parts;
  for (int down = 0; down < 2; ++down) {
    for (int right = 0; right < 2; ++right) {
      const Value row = top + down;
      const Value column = left + right;
      const Value dy = rows - top;
      const Value dx = columns - left;
      Value weight = (down != 0 ? dy : 1 - dy) * (right != 0 ? dx : 1 - dx);
      const auto last_row = static_cast<double>(s[1] - 1);
      const auto last_column = static_cast<double>(s[2] - 1);
      if (zero_outside) {
        const Value inside = logical_and(
            logical_and(greater_equal(row, scalar_like(row, 0)),
                        less_equal(row, scalar_like(row, last_row))),
            logical_and(greater_equal(column, scalar_like(column, 0)),
                        less_equal(column, scalar_like(column, last_column))));
        weight = where(inside, weight, scalar_like(weight, 0));
      }
      const Value index = cast(clamp(row, 0, last_row), DType::kI64) *
                              static_cast<double>(s[2]) +
                          cast(clamp(column, 0, last_column), DType::kI64);
      parts.push_back(gather_nd(flat, reshape(index, {n, points, 1}), 1) *
                      reshape(weight, {n, points, 1}));
    }
  }
  return parts;
}

Value sum_of_parts(const std::vector<Value>& parts) {
  return parts[0] + parts[1] + parts[2] + parts[3];
}

// Places in a region: the middles of `count` by `count` parts of each bin.
Value places_in(const Value& begin, const Value& size, std::int64_t bins,
                std::int64_t count) {
  const std::int64_t places = bins * count;
  const Value step =
      (iota(places, begin.dtype()) + 0.5) / static_cast<double>(places);
  return begin + size * step;  // [regions, 1] by [places]
}

void import_roi_align(OnnxNode& node) {
  const Value x = node.operand(0).last();
  const Value regions = node.input(1);
  const Value batch = node.input(2);
  const std::int64_t rows = node.integer("output_height", 1);
  const std::int64_t columns = node.integer("output_width", 1);
  const std::int64_t count = node.integer("sampling_ratio", 0);
  const Shape& s = x.shape();
  constexpr std::int64_t kMostBins = 1 << 16;
  for (const std::int64_t each : {rows, columns, count}) {
    if (each > kMostBins) throw node.damaged("{} bins or places", each);
  }
  if (rows < 1 || columns < 1) throw node.damaged("no bins");
  if (count < 1) {
    throw node.unsupported(
        "the number of places in a bin depends on the "
        "region; 'sampling_ratio' must be given");
  }
  if (is_symbolic(s[1]) || is_symbolic(s[2])) {
    throw node.unsupported("an image of unknown size");
  }
  const bool is_half =
      node.text("coordinate_transformation_mode",
                node.opset() < 16 ? "output_half_pixel" : "half_pixel") ==
      "half_pixel";
  const double scale = node.real("spatial_scale", 1);
  const Value scaled = regions * scale - (is_half ? 0.5 : 0);
  const auto corner = [&](std::int64_t i) {
    return slice_axis(scaled, 1, i, i + 1);
  };
  const auto extent = [&](std::int64_t i) {
    const Value size = corner(i + 2) - corner(i);
    return is_half ? size : maximum(size, scalar_like(size, 1));
  };
  const Value y = places_in(corner(1), extent(1), rows, count);
  const Value at_x = places_in(corner(0), extent(0), columns, count);
  const Dim n = regions.shape()[0];
  const Shape grid{n, rows * count, columns * count};
  const auto spread = [&](const Value& places, const Shape& apart) {
    return reshape(broadcast_to(reshape(places, apart), grid),
                   {n, rows * count * columns * count});
  };
  const Value row = spread(y, {n, rows * count, 1});
  const Value column = spread(at_x, {n, 1, columns * count});
  // Far outside there is nothing; close by, the edge goes on.
  const auto height = static_cast<double>(s[1]);
  const auto width = static_cast<double>(s[2]);
  const Value here =
      logical_and(logical_and(greater_equal(row, scalar_like(row, -1)),
                              less_equal(row, scalar_like(row, height))),
                  logical_and(greater_equal(column, scalar_like(column, -1)),
                              less_equal(column, scalar_like(column, width))));
  const auto parts = four_parts(gather(x, batch), clamp(row, 0, height - 1),
                                clamp(column, 0, width - 1), false);
  const bool is_max = node.text("mode", "avg") == "max";
  Value taps =
      is_max ? maximum(maximum(parts[0], parts[1]), maximum(parts[2], parts[3]))
             : sum_of_parts(parts);
  taps = where(reshape(here, {n, -1, 1}), taps, scalar_like(taps, 0));
  const Value bins = reshape(taps, {n, rows, count, columns, count, s[3]});
  node.set(OnnxValue::channels_last(is_max ? reduce_max(bins, {2, 4})
                                           : mean(bins, {2, 4})));
}

// Dai et al., 2017: a convolution whose taps are moved by offsets that differ
// from place to place, each [2 offsets] by group and tap.
class DeformedConvolution {
 public:
  explicit DeformedConvolution(const OnnxNode& node)
      : x_(node.operand(0).last()),
        w_(kernel_last(node.operand(1))),
        groups_(node.integer("group", 1)),
        moved_(node.integer("offset_group", 1)) {
    const Shape& s = x_.shape();
    const Shape offsets = node.operand(2).type().shape;
    check_operands(node, offsets);
    kernel_ = {w_.shape()[0], w_.shape()[1]};
    windows_ = plain_windows_of(node, kernel_);
    taps_ = kernel_[0] * kernel_[1];
    if (moved_ < 1 || s[3] % moved_ != 0 || groups_ < 1 ||
        offsets[1] != 2 * moved_ * taps_) {
      throw node.damaged("offsets {}", to_string(offsets));
    }
    n_ = s[0];
    rows_ = offsets[2];
    columns_ = offsets[3];
    offset_ = reshape(node.input(2), {n_, moved_, taps_, 2, points()});
    if (node.has(4)) {
      mask_ = reshape(node.input(4), {n_, moved_, taps_, points()});
    }
    if (node.has(3)) bias_ = node.input(3);
  }

  // With channels last.
  Value result() const {
    std::vector<Value> seen;
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      seen.push_back(seen_by(tap));
    }
    std::vector<Value> results;
    for (std::int64_t g = 0; g < groups_; ++g) {
      results.push_back(product_of_group(seen, g));
    }
    const Value y =
        reshape(concat(results, 2), {n_, rows_, columns_, w_.shape()[3]});
    return bias_.is_defined() ? y + bias_ : y;
  }

 private:
  void check_operands(const OnnxNode& node, const Shape& offsets) const {
    const Shape& s = x_.shape();
    const Shape& w = w_.shape();
    if (s.rank() != 4 || w.rank() != 4 || offsets.rank() != 4) {
      throw node.damaged("an image {} with weights {} and offsets {}",
                         to_string(s), to_string(w), to_string(offsets));
    }
    if (!s.is_static() || !offsets.is_static() || !w.is_static()) {
      throw node.unsupported("other images than those of two known sides");
    }
  }

  Dim points() const { return rows_ * columns_; }

  // Where a tap stands along an axis before it is moved: [1, points].
  Value place_of(std::int64_t tap, bool is_row) const {
    const Taps& axis = windows_[is_row ? 0 : 1];
    const Value place = iota(is_row ? rows_ : columns_, x_.dtype()) *
                            static_cast<double>(axis.stride) +
                        static_cast<double>(tap * axis.dilation - axis.before);
    const Shape along = is_row ? Shape{1, rows_, 1} : Shape{1, 1, columns_};
    return reshape(broadcast_to(reshape(place, along), {1, rows_, columns_}),
                   {1, points()});
  }

  // What a tap sees at each point: [n, points, channels].
  Value seen_by(std::int64_t tap) const {
    const Dim part = x_.shape()[3] / moved_;
    std::vector<Value> of_groups;
    for (std::int64_t g = 0; g < moved_; ++g) {
      const auto shift = [&](std::int64_t which) {
        return reshape(slice(offset_, {0, g, tap, which, 0},
                             {kToEnd, g + 1, tap + 1, which + 1, kToEnd}),
                       {n_, points()});
      };
      const Value row = place_of(tap / kernel_[1], true) + shift(0);
      const Value column = place_of(tap % kernel_[1], false) + shift(1);
      const Value images = slice_axis(x_, 3, g * part, (g + 1) * part);
      Value pixels = sum_of_parts(four_parts(images, row, column, true));
      if (mask_.is_defined()) {
        pixels = pixels * reshape(slice(mask_, {0, g, tap, 0},
                                        {kToEnd, g + 1, tap + 1, kToEnd}),
                                  {n_, points(), 1});
      }
      of_groups.push_back(pixels);
    }
    return concat(of_groups, 2);
  }

  // The product of all taps for a group of channels: [n, points, its results].
  Value product_of_group(const std::vector<Value>& seen, std::int64_t g) const {
    const Dim in = w_.shape()[2];
    const Dim out = w_.shape()[3] / groups_;
    std::vector<Value> columns;
    for (const Value& each : seen) {
      columns.push_back(slice_axis(each, 2, g * in, (g + 1) * in));
    }
    const Value weights =
        reshape(slice_axis(w_, 3, g * out, (g + 1) * out), {taps_ * in, out});
    return matmul(concat(columns, 2), weights);
  }

  Value x_;  // channels last
  Value w_;  // [rows, columns, inputs of a group, results]
  std::int64_t groups_;
  std::int64_t moved_;  // groups of channels that are moved alike
  Integers kernel_;
  Windows windows_;
  std::int64_t taps_ = 0;
  Dim n_ = 0;
  Dim rows_ = 0;  // of the result, as are columns
  Dim columns_ = 0;
  Value offset_;  // [n, moved, taps, 2, points]
  Value mask_;    // [n, moved, taps, points], or undefined
  Value bias_;    // or undefined
};

void import_deform_conv(OnnxNode& node) {
  node.set(OnnxValue::channels_last(DeformedConvolution(node).result()));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_regions(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "RoiAlign", .import = import_roi_align});
  ops.add({.name = "DeformConv", .import = import_deform_conv});
}

}  // namespace weft
