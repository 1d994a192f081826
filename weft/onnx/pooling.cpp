// Maxima and means over boxes are taken one axis, or two, after another: a
// maximum is one of maxima, and a mean that counts padding, or not, one of
// means of equally many numbers along each other axis.
#include "weft/onnx/pooling.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "weft/base/index.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/pool.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// Each is a slice of its own.
constexpr std::int64_t kMostTaps = 4096;

using Pool2d = std::function<Value(const Value&, const Taps&, const Taps&)>;

PoolOptions pool_options(const Taps& rows, const Taps& columns) {
  return {.window = {rows.kernel, columns.kernel},
          .strides = {rows.stride, columns.stride},
          .padding = {rows.before, rows.after, columns.before, columns.after}};
}

Shape with_spatial(const Shape& x, std::span<const Dim> spatial) {
  Shape shape{x[0]};
  for (const Dim dim : spatial) shape.push_back(dim);
  shape.push_back(x.back());
  return shape;
}

// An image of four axes in which `axis` of x is the rows, and all behind it the
// columns, which a window of one pools not at all.
Value pooled_along(const Value& x, int axis, const Taps& taps,
                   const Pool2d& pool) {
  const Shape& shape = x.shape();
  const Dim before = dim_product(shape.first(axis));
  const Dim behind = dim_product(
      shape.last(shape.rank() - axis - 1)
          .first(static_cast<std::size_t>(shape.rank() - axis - 2)));
  const Value y = pool(reshape(x, {before, shape[axis], behind, shape.back()}),
                       taps, Taps{});
  Shape result = shape;
  result[axis] = y.shape()[1];
  return reshape(y, result);
}

Value pooled(const Value& x, const Windows& windows, const Pool2d& pool) {
  if (windows.size() == 2) return pool(x, windows[0], windows[1]);
  Value y = x;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    y = pooled_along(y, static_cast<int>(i) + 1, windows[i], pool);
  }
  return y;
}

bool is_dilated(const Windows& windows) {
  return std::ranges::any_of(windows, [](const Taps& taps) {
    return taps.dilation != 1 && taps.kernel != 1;
  });
}

// Windows with gaps, or padding as wide as a window: each tap sees a slice of
// the padded image, and the slices are combined.
Value combined_along(const Value& padded, int axis, const Taps& taps,
                     const std::function<Value(Value, Value)>& combine) {
  const Dim size = padded.shape()[axis];
  if (is_symbolic(size)) {
    throw Error(ErrorCode::kUnsupported, "pool",
                "dilated windows over {} pixels, which are not known",
                to_string(size));
  }
  if (taps.kernel > kMostTaps) {
    throw Error(ErrorCode::kUnsupported, "pool",
                "dilated or widely padded windows of {} taps, of at most {}",
                taps.kernel, kMostTaps);
  }
  const Dim count = (size - taps.span()) / taps.stride + 1;
  const int rank = padded.shape().rank();
  Value total;
  for (std::int64_t k = 0; k < taps.kernel; ++k) {
    Integers begin(at(rank), 0);
    Integers end(at(rank), kToEnd);
    Integers steps(at(rank), 1);
    begin[at(axis)] = k * taps.dilation;
    end[at(axis)] = k * taps.dilation + (count - 1) * taps.stride + 1;
    steps[at(axis)] = taps.stride;
    const Value seen = slice(padded, begin, end, steps);
    total = total.is_defined() ? combine(total, seen) : seen;
  }
  return total;
}

Value combined(const Value& x, const Windows& windows, double padding,
               const std::function<Value(Value, Value)>& combine) {
  Integers low(at(x.shape().rank()), 0);
  Integers high = low;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    low[i + 1] = windows[i].before;
    high[i + 1] = windows[i].after;
  }
  Value y = pad(x, low, high, padding);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    y = combined_along(y, static_cast<int>(i) + 1, windows[i], combine);
  }
  return y;
}

Value sum_of_two(const Value& a, const Value& b) { return a + b; }

bool has_wide_padding(const Windows& windows) {
  return std::ranges::any_of(windows, [](const Taps& taps) {
    return taps.before >= taps.kernel || taps.after >= taps.kernel;
  });
}

}  // namespace

Value pooled_max(const Value& x, const Windows& windows) {
  if (is_dilated(windows) || has_wide_padding(windows)) {
    return combined(
        x, windows, -std::numeric_limits<double>::infinity(),
        [](const Value& a, const Value& b) { return maximum(a, b); });
  }
  return pooled(x, windows,
                [](const Value& y, const Taps& rows, const Taps& columns) {
                  return max_pool(y, pool_options(rows, columns));
                });
}

Value pooled_mean(const Value& x, const Windows& windows, bool counts_padding) {
  if (is_dilated(windows) || has_wide_padding(windows)) {
    const Value sums = combined(x, windows, 0, sum_of_two);
    double taps = 1;
    for (const Taps& each : windows) taps *= static_cast<double>(each.kernel);
    if (counts_padding) return sums / taps;
    // How many pixels a window sees is the same sum over an image of ones.
    const Shape& shape = x.shape();
    const Shape one = with_spatial(
        Shape{1, 1}, shape.last(shape.rank() - 1).first(windows.size()));
    return sums / combined(full({x.dtype(), one}, 1), windows, 0, sum_of_two);
  }
  return pooled(
      x, windows, [&](const Value& y, const Taps& rows, const Taps& columns) {
        return avg_pool(y, pool_options(rows, columns), counts_padding);
      });
}

}  // namespace weft::onnx
