// Windows that pools look at, in NHWC images, and what their kernels share.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_POOL_WINDOWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_POOL_WINDOWS_H_
#undef WEFT_KERNELS_CPU_POOL_WINDOWS_H_
#else
#define WEFT_KERNELS_CPU_POOL_WINDOWS_H_
#endif

#include <algorithm>
#include <optional>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/f32_or_bf16.h"
#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// One row of windows is one unit of work.
struct Geometry {
  std::int64_t batch, x_rows, x_columns, y_rows, y_columns, channels;
  std::int64_t window_rows, window_columns;
  std::int64_t stride_rows, stride_columns, before_rows, before_columns;
  bool counts_padding;  // of means alone

  Geometry(const OpCall& call, const Shape& x, const Shape& y)
      : batch(x[0]),
        x_rows(x[1]),
        x_columns(x[2]),
        y_rows(y[1]),
        y_columns(y[2]),
        channels(x[3]),
        window_rows(call.attributes.integers("window")[0]),
        window_columns(call.attributes.integers("window")[1]),
        stride_rows(call.attributes.integers("strides")[0]),
        stride_columns(call.attributes.integers("strides")[1]),
        before_rows(call.attributes.integers("padding")[0]),
        before_columns(call.attributes.integers("padding")[2]),
        counts_padding(call.attributes.find("counts_padding") != nullptr &&
                       call.attributes.flag("counts_padding")) {}

  std::int64_t image_size() const { return x_rows * x_columns * channels; }
  std::int64_t result_size() const { return y_rows * y_columns * channels; }

  // Calls body(x offset within the image, position) for the pixels that the
  // window at (row, column) sees.
  template <class Body>
  void for_each_tap(std::int64_t row, std::int64_t column, Body&& body) const {
    const std::int64_t top = row * stride_rows - before_rows;
    const std::int64_t left = column * stride_columns - before_columns;
    // The window is cut to the image once, so that no tap is tested.
    const std::int64_t first_row = std::max<std::int64_t>(0, -top);
    const std::int64_t last_row = std::min(window_rows, x_rows - top);
    const std::int64_t first_column = std::max<std::int64_t>(0, -left);
    const std::int64_t last_column = std::min(window_columns, x_columns - left);
    for (std::int64_t i = first_row; i < last_row; ++i) {
      for (std::int64_t j = first_column; j < last_column; ++j) {
        body(((top + i) * x_columns + left + j) * channels,
             i * window_columns + j);
      }
    }
  }
  // The position of the first of them.
  std::int64_t first_tap(std::int64_t row, std::int64_t column) const {
    const std::int64_t above = before_rows - row * stride_rows;
    const std::int64_t left = before_columns - column * stride_columns;
    return std::max<std::int64_t>(0, above) * window_columns +
           std::max<std::int64_t>(0, left);
  }
  // How many pixels its mean is over: those that it sees, unless padding
  // counts.
  std::int64_t tap_count(std::int64_t row, std::int64_t column) const {
    if (counts_padding) return window_rows * window_columns;
    const auto count = [](std::int64_t begin, std::int64_t window,
                          std::int64_t size) {
      return std::min(begin + window, size) - std::max<std::int64_t>(begin, 0);
    };
    return count(row * stride_rows - before_rows, window_rows, x_rows) *
           count(column * stride_columns - before_columns, window_columns,
                 x_columns);
  }
};

template <class T>
class PoolKernel : public PreparedKernel {
 public:
  PoolKernel(const OpCall& call, const TensorType& x, const TensorType& y)
      : g_(call, x.shape, y.shape) {}

 protected:
  // Calls body(image, row) for every row of windows, in parallel.
  template <class Body>
  void for_each_row(Body&& body) const {
    // A thread takes some thousand taps at least.
    parallel_for(g_.batch * g_.y_rows, 1 + 4096 / (1 + row_work()),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     body(i / g_.y_rows, i % g_.y_rows);
                   }
                 });
  }
  std::int64_t row_work() const {
    return g_.y_columns * g_.channels * g_.window_rows * g_.window_columns;
  }

  Geometry g_;
};

// Which windows along an axis see a pixel.
struct WindowRange {
  std::int64_t first, end;
};

// The gradient of a pool. A pixel's is the sum of what the windows that see it
// have for it: each pixel is written once and rounded once, and threads share
// images by rows of pixels, whether windows overlap or not.
template <class T>
class PoolGradient : public PoolKernel<T> {
 public:
  PoolGradient(const OpCall& call, const TensorType& x, const TensorType& y)
      : PoolKernel<T>(call, x, y) {
    const Geometry& g = this->g_;
    for (std::int64_t row = 0; row < g.x_rows; ++row) {
      rows_.push_back(
          seeing(row + g.before_rows, g.window_rows, g.stride_rows, g.y_rows));
    }
    for (std::int64_t column = 0; column < g.x_columns; ++column) {
      columns_.push_back(seeing(column + g.before_columns, g.window_columns,
                                g.stride_columns, g.y_columns));
    }
  }

 protected:
  // Writes to dx the sums of term(window, tap, offset, count): what `window`,
  // counted within its image, has for its pixel number `tap` in the `count`
  // channels from `offset` of dy on.
  template <class Term>
  void sum_windows(T* dx, Term&& term) const {
    const Geometry& g = this->g_;
    const auto channels = static_cast<std::size_t>(g.channels);
    const auto sum_row = [&](std::int64_t image, std::int64_t row) {
      T* to = dx + image * g.image_size() + row * g.x_columns * g.channels;
      for (std::int64_t column = 0; column < g.x_columns; ++column) {
        const Pixel pixel{image, row, column, to + column * g.channels};
        std::size_t c = 0;
        // Four vectors share the arithmetic of a window's addresses.
        for (; c + 4 * simd::kLanes <= channels; c += 4 * simd::kLanes) {
          sum_pixel<4>(pixel, c, simd::kLanes, term);
        }
        for (; c + simd::kLanes <= channels; c += simd::kLanes) {
          sum_pixel<1>(pixel, c, simd::kLanes, term);
        }
        if (c < channels) sum_pixel<1>(pixel, c, channels - c, term);
      }
    };
    parallel_for(g.batch * g.x_rows, 1 + 4096 / (1 + g.x_columns * g.channels),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     sum_row(i / g.x_rows, i % g.x_rows);
                   }
                 });
  }

 private:
  struct Pixel {
    std::int64_t image, row, column;
    T* dx;
  };

  // An axis, padded, has `count` windows, `stride` apart. The result are those
  // that hold the pixel at `position`.
  static WindowRange seeing(std::int64_t position, std::int64_t window,
                            std::int64_t stride, std::int64_t count) {
    return {position < window ? 0 : (position - window) / stride + 1,
            std::min(count, position / stride + 1)};
  }

  template <std::size_t kVectors, class Term>
  void sum_pixel(const Pixel& pixel, std::size_t c, std::size_t count,
                 Term& term) const {
    const Geometry& g = this->g_;
    simd::Vector sums[kVectors];
    for (simd::Vector& sum : sums) sum = simd::broadcast(0.f);
    const auto [first_row, end_row] =
        rows_[static_cast<std::size_t>(pixel.row)];
    const auto [first_column, end_column] =
        columns_[static_cast<std::size_t>(pixel.column)];
    for (std::int64_t i = first_row; i < end_row; ++i) {
      const std::int64_t above = pixel.row + g.before_rows - i * g.stride_rows;
      for (std::int64_t j = first_column; j < end_column; ++j) {
        const std::int64_t left =
            pixel.column + g.before_columns - j * g.stride_columns;
        const std::int64_t window = i * g.y_columns + j;
        const std::int64_t offset = pixel.image * g.result_size() +
                                    window * g.channels +
                                    static_cast<std::int64_t>(c);
        for (std::size_t k = 0; k < kVectors; ++k) {
          sums[k] = simd::hn::Add(
              sums[k],
              term(window, above * g.window_columns + left,
                   offset + static_cast<std::int64_t>(k * simd::kLanes),
                   count));
        }
      }
    }
    for (std::size_t k = 0; k < kVectors; ++k) {
      T* dx = pixel.dx + c + k * simd::kLanes;
      if (count == simd::kLanes)
        simd::store(sums[k], dx);
      else
        simd::store_part(sums[k], dx, count);
    }
  }

  std::vector<WindowRange> rows_, columns_;  // for each of the image
};

// The first `count` channels from p on, the rest zero.
template <class T>
simd::Vector load_channels(const T* p, std::size_t count) {
  return count == simd::kLanes ? simd::load(p) : simd::load_part(p, count, 0.f);
}

inline std::optional<std::string> declines_dtype(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kBF16) return std::nullopt;
  return fmt::format("computes in f32 and bf16, not in {}", to_string(dtype));
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
