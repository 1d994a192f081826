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
  // Calls body(image) in parallel: windows of one image may overlap.
  template <class Body>
  void for_each_image(Body&& body) const {
    parallel_for(g_.batch, 1 + 4096 / (1 + row_work() * g_.y_rows),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) body(i);
                 });
  }
  std::int64_t row_work() const {
    return g_.y_columns * g_.channels * g_.window_rows * g_.window_columns;
  }

  Geometry g_;
};

template <class T>
float load(T value) {
  return static_cast<float>(value);
}

// The images' dtype; sums of overlapping windows would round at every step in
// bf16, so those are left to the reference.
inline std::optional<std::string> declines_dtype(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kBF16) return std::nullopt;
  return fmt::format("computes in f32 and bf16, not in {}", to_string(dtype));
}

inline std::optional<std::string> declines_sum(const OpCall& call) {
  if (call.input(0).dtype == DType::kF32) return std::nullopt;
  const Integers& window = call.attributes.integers("window");
  const Integers& strides = call.attributes.integers("strides");
  if (strides[0] < window[0] || strides[1] < window[1]) {
    return "overlapping windows are summed in f32 only";
  }
  return declines_dtype(call);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
