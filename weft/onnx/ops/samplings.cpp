// Pixels at places that are computed.
#include <algorithm>
#include <cmath>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/matmul.h"
#include "weft/ops/rounding.h"
#include "weft/ops/scatter.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

struct Sampling {
  std::string padding;
  bool align_corners = false;
};

// A place beyond the image turned back at its ends, as often as it takes.
Value reflected(const Value& x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return scalar_like(x, low) + x * 0;
  // Within twice the range, the way goes up, then down.
  const Value phase = remainder(x - low, scalar_like(x, 2 * range));
  return low + minimum(phase, 2 * range - phase);
}

// A place by the rule for those outside, of an axis of `size` pixels.
Value placed(const Value& x, std::int64_t size, const Sampling& how) {
  const auto last = static_cast<double>(size - 1);
  if (how.padding == "border") return clamp(x, 0, last);
  if (how.padding == "reflection") {
    const double half = how.align_corners ? 0 : 0.5;
    return clamp(reflected(x, -half, last + half), 0, last);
  }
  return x;
}

// The taps along one axis: whole places, and their weights.
struct AxisTaps {
  std::vector<Value> places;
  std::vector<Value> weights;
};

// Keys, 1981, with a = -0.75, as PyTorch has it.
Value cubic_tap(const Value& distance) {
  constexpr double a = -0.75;
  const Value x = abs(distance);
  const Value near = ((a + 2) * x - (a + 3)) * x * x + 1;
  const Value far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return where(less_equal(x, scalar_like(x, 1)), near, far);
}

AxisTaps axis_taps(const OnnxNode& node, const std::string& mode,
                   const Value& place) {
  AxisTaps taps;
  if (mode == "nearest") {
    taps.places = {round(place)};
    taps.weights = {scalar_like(place, 1)};
    return taps;
  }
  const Value below = floor(place);
  if (mode == "linear" || mode == "bilinear") {
    const Value share = place - below;
    taps.places = {below, below + 1};
    taps.weights = {1 - share, share};
    return taps;
  }
  if (mode != "cubic" && mode != "bicubic") {
    throw node.damaged("there is no mode '{}'", mode);
  }
  for (int i = -1; i <= 2; ++i) {
    taps.places.push_back(below + i);
    taps.weights.push_back(cubic_tap(place - taps.places.back()));
  }
  return taps;
}

// Pixels [N, pixels, C] at whole places, given along each axis as floats
// [N, points]; zero outside, where padding is zeros.
Value pixels_at(const Value& flat, std::span<const Dim> sizes,
                const std::vector<Value>& places, const Sampling& how) {
  Value index;
  Value inside;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto last = static_cast<double>(sizes[i] - 1);
    Value place = places[i];
    if (how.padding == "zeros") {
      const Value here =
          logical_and(greater_equal(place, scalar_like(place, 0)),
                      less_equal(place, scalar_like(place, last)));
      inside = inside.is_defined() ? logical_and(inside, here) : here;
    }
    place = how.padding == "zeros" ? place : placed(place, sizes[i], how);
    const Value whole = cast(clamp(place, 0, last), DType::kI64);
    index = index.is_defined() ? index * static_cast<double>(sizes[i]) + whole
                               : whole;
  }
  const Shape& s = index.shape();
  Value pixels = gather_nd(flat, reshape(index, {s[0], s[1], 1}), 1);
  if (!inside.is_defined()) return pixels;
  return where(reshape(inside, {s[0], s[1], 1}), pixels,
               scalar_like(pixels, 0));
}

void import_grid_sample(OnnxNode& node) {
  const Value x = node.operand(0).last();
  const Value grid = node.input(1);
  const int axes = x.shape().rank() - 2;
  const auto sizes = x.shape().last(axes + 1).first(at(axes));
  for (const Dim size : sizes) {
    if (is_symbolic(size)) throw node.unsupported("an image of unknown size");
  }
  const Sampling how{node.text("padding_mode", "zeros"),
                     node.integer("align_corners", 0) != 0};
  const std::string mode = node.text("mode", "linear");
  const Dim batch = x.shape()[0];
  const Dim points = dim_product(grid.shape().last(axes + 1).first(at(axes)));
  const Value flat = reshape(x, {batch, dim_product(sizes), x.shape().back()});
  std::vector<AxisTaps> along;
  for (int axis = 0; axis < axes; ++axis) {
    // The grid has the last axis first.
    const Value given = reshape(
        slice_axis(grid, -1, axes - 1 - axis, axes - axis), {batch, points});
    const auto size = static_cast<double>(sizes[at(axis)]);
    const Value place = how.align_corners ? (given + 1) * ((size - 1) / 2)
                                          : ((given + 1) * size - 1) * 0.5;
    const bool is_cubic = mode == "cubic" || mode == "bicubic";
    along.push_back(axis_taps(
        node, mode, is_cubic ? place : placed(place, sizes[at(axis)], how)));
  }
  Value total;
  // Each combination of taps, one of each axis.
  std::vector<std::size_t> which(at(axes), 0);
  for (bool goes_on = true; goes_on;) {
    std::vector<Value> places;
    Value weight;
    for (std::size_t i = 0; i < which.size(); ++i) {
      places.push_back(along[i].places[which[i]]);
      const Value& own = along[i].weights[which[i]];
      weight = weight.is_defined() ? weight * own : own;
    }
    Value part = pixels_at(flat, sizes, places, how);
    if (mode != "nearest") {
      part = part * reshape(to_dtype(weight, part.dtype()), {batch, points, 1});
    }
    total = total.is_defined() ? total + part : part;
    goes_on = false;
    for (std::size_t i = which.size(); i-- > 0;) {
      if (++which[i] < along[i].places.size()) {
        goes_on = true;
        break;
      }
      which[i] = 0;
    }
  }
  Shape result{batch};
  for (const Dim dim : grid.shape().last(axes + 1).first(at(axes))) {
    result.push_back(dim);
  }
  result.push_back(x.shape().back());
  node.set(OnnxValue::channels_last(reshape(total, result)));
}

// Places of pixels between -1 and 1, moved by a matrix for each example.
void import_affine_grid(OnnxNode& node) {
  const Value theta = node.input(0);
  const Integers size = node.known_integers(1);
  const bool align_corners = node.integer("align_corners", 0) != 0;
  const std::size_t axes = size.size() < 2 ? 0 : size.size() - 2;
  if (axes == 0 || std::ranges::min(size) < 1 || theta.shape().rank() != 3 ||
      theta.shape()[1] != static_cast<Dim>(axes)) {
    throw node.damaged("a grid of {} sizes", size.size());
  }
  Shape grid;
  for (std::size_t i = 0; i < axes; ++i) grid.push_back(size[i + 2]);
  // x first, then y, and a one for what is added.
  std::vector<Value> columns;
  for (std::size_t i = axes; i-- > 0;) {
    const Dim count = grid[static_cast<int>(i)];
    const auto n = static_cast<double>(count);
    const Value place = iota(count, theta.dtype());
    Shape along;
    along.resize(grid.rank(), 1);
    along[static_cast<int>(i)] = count;
    const Value at =
        align_corners ? place * (2 / (n - 1)) - 1 : (place * 2 + 1) / n - 1;
    columns.push_back(reshape(broadcast_to(reshape(at, along), grid), {-1, 1}));
  }
  columns.push_back(full({theta.dtype(), {dim_product(grid.dims()), 1}}, 1));
  const Value points = concat(columns, 1);
  Shape result{theta.shape()[0]};
  for (const Dim dim : grid) result.push_back(dim);
  result.push_back(static_cast<Dim>(axes));
  node.set(reshape(matmul(points, theta, {.transpose_b = true}), result));
}

// Blocks of columns and where they lie in an image, by axis.
struct Blocks {
  Integers image;
  Integers block;
  Integers dilations;
  Integers strides;
  Integers pads;  // before each axis, then behind each
  std::int64_t taps = 1;

  std::size_t axes() const { return image.size(); }
};

Blocks blocks_of(const OnnxNode& node) {
  Blocks b;
  b.image = node.known_integers(1);
  b.block = node.known_integers(2);
  const std::size_t axes = b.axes();
  b.dilations = node.integers("dilations", Integers(axes, 1));
  b.strides = node.integers("strides", Integers(axes, 1));
  b.pads = node.integers("pads", Integers(2 * axes, 0));
  const auto are_sizes = [](const Integers& list, std::int64_t least) {
    return std::ranges::all_of(list, [&](std::int64_t each) {
      return each >= least && each <= 1 << 20;
    });
  };
  if (!are_sizes(b.image, 1) || !are_sizes(b.block, 1) ||
      !are_sizes(b.dilations, 1) || !are_sizes(b.strides, 1) ||
      !are_sizes(b.pads, 0)) {
    throw node.damaged("sizes that are none");
  }
  if (b.block.size() != axes || b.dilations.size() != axes ||
      b.strides.size() != axes || b.pads.size() != 2 * axes) {
    throw node.damaged("lists of different lengths");
  }
  for (const std::int64_t side : b.block) {
    b.taps *= side;
    if (b.taps > 1 << 20) throw node.damaged("blocks of {} pixels", b.taps);
  }
  return b;
}

// Where the pixels of one tap of all blocks lie, as a slice of the padded
// image.
struct TapSlice {
  Integers begin;
  Integers end;
  Integers steps;
};

TapSlice slice_of_tap(const Blocks& b, const Shape& counts, std::int64_t tap) {
  const std::size_t rank = b.axes() + 2;
  TapSlice at{Integers(rank, 0), Integers(rank, kToEnd), Integers(rank, 1)};
  for (std::size_t i = b.axes(); i-- > 0;) {
    const std::int64_t place = tap % b.block[i] * b.dilations[i];
    tap /= b.block[i];
    const Dim count = counts[static_cast<int>(i) + 2];
    at.begin[i + 2] = place;
    at.steps[i + 2] = b.strides[i];
    at.end[i + 2] = place + (count - 1) * b.strides[i] + 1;
  }
  return at;
}

// Blocks of columns added up where they lie in the image.
void import_col2im(OnnxNode& node) {
  const Blocks b = blocks_of(node);
  const Value x = node.input(0);
  const auto channels =
      b.taps > 0 ? dim_divide_exactly(x.shape()[1], b.taps) : std::nullopt;
  if (!channels) throw node.damaged("blocks do not fit the channels");
  Shape padded{x.shape()[0], *channels};
  Shape counts = padded;  // of blocks
  Integers begin = {0, 0};
  Integers end = {kToEnd, kToEnd};
  for (std::size_t i = 0; i < b.axes(); ++i) {
    padded.push_back(b.image[i] + b.pads[i] + b.pads[b.axes() + i]);
    const std::int64_t span = b.dilations[i] * (b.block[i] - 1) + 1;
    const std::int64_t rest = padded.back() - span;
    if (rest < 0) throw node.damaged("blocks larger than the image");
    counts.push_back(rest / b.strides[i] + 1);
    begin.push_back(b.pads[i]);
    end.push_back(b.pads[i] + b.image[i]);
  }
  const Value apart = reshape(x, {x.shape()[0], *channels, b.taps, -1});
  Value total;
  for (std::int64_t tap = 0; tap < b.taps; ++tap) {
    const TapSlice at = slice_of_tap(b, counts, tap);
    const Value part =
        unslice(reshape(slice_axis(apart, 2, tap, tap + 1), counts), padded,
                at.begin, at.end, at.steps);
    total = total.is_defined() ? total + part : part;
  }
  node.set(slice(total, begin, end));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_samplings(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "GridSample", .import = import_grid_sample});
  ops.add({.name = "AffineGrid", .import = import_affine_grid});
  ops.add({.name = "Col2Im", .import = import_col2im});
}

}  // namespace weft
