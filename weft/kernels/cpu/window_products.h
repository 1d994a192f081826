// Convolutions as products of matrices: what the windows see is copied side by
// side, a row for each window ("im2col"). So many windows are taken at once as
// the caches hold, and never all of them.
//
// A window that hangs over the image's edge has zeros in its row, which
// infinities of the other operand must not meet: where there are any, the
// products are made one by one.
//
// `Multiply` says how matrices are multiplied:
//   using Number = double;
//   static constexpr std::size_t kScratchBytes;
//   static constexpr std::int64_t kMostRows;  // and columns of a matrix
//   // c [m, n] = a b, or c += a b; no size is 0.
//   static void run(std::int64_t m, std::int64_t n, std::int64_t k,
//                   const WindowMatrix<const Number>& a,
//                   const WindowMatrix<const Number>& b, bool adds,
//                   const WindowMatrix<Number>& c, Number* scratch) noexcept;
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/indexing.h"
#include "weft/kernels/cpu/tail.h"
#include "weft/ops/support/window.h"

namespace weft {

// Row-major: `stride` is the distance between rows as they lie in memory, and a
// transposed matrix is read as its transpose.
template <class Number>
struct WindowMatrix {
  Number* data;
  std::int64_t stride;
  bool transpose = false;
};

// A convolution, however it is derived, and one block of its windows at a time.
template <class Multiply>
class Windows {
  using T = typename Multiply::Number;

 public:
  Windows(const OpCall& call, const Shape& x, const Shape& w, const Shape& y)
      : window_(window_of(call, w[0], w[1])),
        x_(x),
        w_(w),
        y_(y),
        groups_(call.attributes.integer("groups")),
        per_block_(
            std::clamp<std::int64_t>(kBlockBytes / row_bytes(), 1, windows())) {
    // Who prepares a kernel that throws takes another one (graph/kernel.h).
    if (std::max({width(), channels_out(), x[3]}) > Multiply::kMostRows) {
      throw Error(ErrorCode::kUnsupported, call.op.name(),
                  "a window or its channels are more than rows of a matrix "
                  "can be");
    }
    // Blocks of several images have whole ones, which threads then share out.
    const std::int64_t image = y[1] * y[2];
    if (per_block_ > image) per_block_ = per_block_ / image * image;
  }

  // How many numbers a block needs room for.
  std::size_t scratch_size() const { return at(per_block_ * width()); }
  std::int64_t windows() const { return y_[0] * y_[1] * y_[2]; }
  std::int64_t channels_out() const { return y_[3]; }
  std::int64_t image_size() const { return x_.num_elements(); }
  // What a row of windows holds within one group, and how many numbers it is
  // multiplied to.
  std::int64_t width() const { return w_[0] * w_[1] * w_[2]; }
  std::int64_t outputs() const { return w_[3] / groups_; }

  // Calls body(group, first, count) for each block of each group.
  template <class Body>
  void for_each_block(Body&& body) const {
    for (std::int64_t first = 0; first < windows(); first += per_block_) {
      const std::int64_t count = std::min(per_block_, windows() - first);
      for (std::int64_t g = 0; g < groups_; ++g) body(g, first, count);
    }
  }

  // What the windows of a block see, and 0 where that is outside of the image.
  void gather(const T* x, std::int64_t group, std::int64_t first,
              std::int64_t count, T* rows) const noexcept {
    parallel_for(count, grain_of(row_bytes()),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     for_each_tap(first + i, group,
                                  [&](std::int64_t tap, std::int64_t pixel) {
                                    T* to = rows + i * width() + tap * w_[2];
                                    if (pixel < 0) {
                                      std::fill_n(to, w_[2], T(0));
                                    } else {
                                      std::copy_n(x + pixel, w_[2], to);
                                    }
                                  });
                   }
                 });
  }

  // The transpose: adds each row to the pixels that its window sees. Windows of
  // one image overlap, so that one thread has all of them.
  void scatter(const T* rows, std::int64_t group, std::int64_t first,
               std::int64_t count, T* x) const noexcept {
    const std::int64_t per_task = std::min(count, y_[1] * y_[2]);
    parallel_for((count + per_task - 1) / per_task, 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t last = std::min(end * per_task, count);
                   for (std::int64_t i = begin * per_task; i < last; ++i) {
                     for_each_tap(first + i, group,
                                  [&](std::int64_t tap, std::int64_t pixel) {
                                    if (pixel < 0) return;
                                    const T* from =
                                        rows + i * width() + tap * w_[2];
                                    for (std::int64_t c = 0; c < w_[2]; ++c) {
                                      x[pixel + c] += from[c];
                                    }
                                  });
                   }
                 });
  }

  // Whether rows may hold zeros that the image does not have, beside values
  // that make NaN of them.
  bool must_leave_out_padding(const T* other,
                              std::int64_t size) const noexcept {
    const auto pads = [](const WindowAxis& axis) {
      return axis.before > 0 || axis.after > 0;
    };
    return (pads(window_.rows) || pads(window_.columns)) &&
           !std::all_of(other, other + size,
                        [](T value) { return std::isfinite(value); });
  }
  // y = x * w, and dw = x * dy, product by product.
  void convolve_plainly(const T* x, const T* w, T* y) const noexcept {
    std::fill_n(y, windows() * channels_out(), T(0));
    parallel_for(windows(), 1, [&](std::int64_t begin, std::int64_t end) {
      for_each_product(begin, end, 0, w_[2],
                       [&](auto i, auto k, auto o) { y[o] += x[i] * w[k]; });
    });
  }
  void correlate_plainly(const T* x, const T* dy, T* dw) const noexcept {
    std::fill_n(dw, width() * channels_out(), T(0));
    // Each thread has input channels of its own, and so weights of its own.
    parallel_for(w_[2], 1, [&](std::int64_t begin, std::int64_t end) {
      for_each_product(0, windows(), begin, end,
                       [&](auto i, auto k, auto o) { dw[k] += x[i] * dy[o]; });
    });
  }

  // Where a group's columns of weights begin, and its part of a block of the
  // result: the groups lie side by side in both.
  template <class Number>
  Number* weights(Number* w, std::int64_t group) const {
    return w + group * outputs();
  }
  template <class Number>
  Number* result(Number* y, std::int64_t group, std::int64_t first) const {
    return y + first * channels_out() + group * outputs();
  }

 private:
  static constexpr std::int64_t kBlockBytes = 2 << 20;

  std::int64_t row_bytes() const {
    return width() * static_cast<std::int64_t>(sizeof(T));
  }

  // Calls body(x index, w index, y index) for all products of some windows and
  // of some input channels of each group.
  template <class Body>
  void for_each_product(std::int64_t begin, std::int64_t end,
                        std::int64_t first_channel, std::int64_t last_channel,
                        Body&& body) const noexcept {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t g = 0; g < groups_; ++g) {
        for_each_tap(i, g, [&](std::int64_t tap, std::int64_t pixel) {
          if (pixel < 0) return;
          for (std::int64_t c = first_channel; c < last_channel; ++c) {
            for (std::int64_t o = g * outputs(); o < (g + 1) * outputs(); ++o) {
              body(pixel + c, (tap * w_[2] + c) * w_[3] + o, i * y_[3] + o);
            }
          }
        });
      }
    }
  }

  // Calls body(tap, offset of the pixel's first channel of the group, or -1).
  template <class Body>
  void for_each_tap(std::int64_t index, std::int64_t group,
                    Body&& body) const noexcept {
    const std::int64_t column = index % y_[2];
    const std::int64_t row = index / y_[2] % y_[1];
    const std::int64_t image = index / (y_[2] * y_[1]);
    std::int64_t tap = 0;
    for (std::int64_t t = 0; t < w_[0]; ++t) {
      const std::int64_t r = window_.rows.position(row, t);
      for (std::int64_t u = 0; u < w_[1]; ++u, ++tap) {
        const std::int64_t c = window_.columns.position(column, u);
        const bool is_inside = r >= 0 && r < x_[1] && c >= 0 && c < x_[2];
        body(tap, is_inside ? ((image * x_[1] + r) * x_[2] + c) * x_[3] +
                                  group * w_[2]
                            : -1);
      }
    }
  }

  Window window_;
  Shape x_, w_, y_;
  std::int64_t groups_;
  std::int64_t per_block_;  // windows
};

template <class Multiply>
std::unique_ptr<PreparedKernel> make_conv2d(const OpCall& call) {
  using T = typename Multiply::Number;
  const Windows<Multiply> windows(call, call.input(0).shape,
                                  call.input(1).shape, call.outputs[0].shape);
  const std::int64_t weights = call.input(1).shape.num_elements();
  const bool has_bias = call.has_input(2);
  const bool is_relu = call.attributes.text("activation") == "relu";
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        const auto* x = input_of<T>(buffers, 0);
        const auto* w = input_of<T>(buffers, 1);
        auto* y = output_of<T>(buffers, 0);
        auto* rows = static_cast<T*>(buffers.scratch);
        auto* own = rows + windows.scratch_size();
        const auto multiply = [&](auto group, auto first, auto count) {
          windows.gather(x, group, first, count, rows);
          Multiply::run(
              count, windows.outputs(), windows.width(),
              {rows, windows.width()},
              {windows.weights(w, group), windows.channels_out()}, false,
              {windows.result(y, group, first), windows.channels_out()}, own);
        };
        if (windows.must_leave_out_padding(w, weights)) {
          windows.convolve_plainly(x, w, y);
        } else {
          windows.for_each_block(multiply);
        }
        add_tail(windows.windows(), windows.channels_out(),
                 has_bias ? input_of<T>(buffers, 2) : nullptr, is_relu, y);
      },
      windows.scratch_size() * sizeof(T) + Multiply::kScratchBytes);
}

template <class Multiply>
std::unique_ptr<PreparedKernel> make_conv2d_input_gradient(const OpCall& call) {
  using T = typename Multiply::Number;
  const Windows<Multiply> windows(call, call.outputs[0].shape,
                                  call.input(1).shape, call.input(0).shape);
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        const auto* dy = input_of<T>(buffers, 0);
        const auto* w = input_of<T>(buffers, 1);
        auto* dx = output_of<T>(buffers, 0);
        auto* rows = static_cast<T*>(buffers.scratch);
        auto* own = rows + windows.scratch_size();
        std::fill_n(dx, windows.image_size(), T(0));
        windows.for_each_block([&](auto group, auto first, auto count) {
          Multiply::run(
              count, windows.width(), windows.outputs(),
              {windows.result(dy, group, first), windows.channels_out()},
              {windows.weights(w, group), windows.channels_out(), true}, false,
              {rows, windows.width()}, own);
          windows.scatter(rows, group, first, count, dx);
        });
      },
      windows.scratch_size() * sizeof(T) + Multiply::kScratchBytes);
}

template <class Multiply>
std::unique_ptr<PreparedKernel> make_conv2d_weight_gradient(
    const OpCall& call) {
  using T = typename Multiply::Number;
  const Windows<Multiply> windows(call, call.input(0).shape,
                                  call.outputs[0].shape, call.input(1).shape);
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        const auto* x = input_of<T>(buffers, 0);
        const auto* dy = input_of<T>(buffers, 1);
        auto* dw = output_of<T>(buffers, 0);
        auto* rows = static_cast<T*>(buffers.scratch);
        auto* own = rows + windows.scratch_size();
        if (windows.must_leave_out_padding(
                dy, windows.windows() * windows.channels_out())) {
          windows.correlate_plainly(x, dy, dw);
          return;
        }
        windows.for_each_block([&](auto group, auto first, auto count) {
          windows.gather(x, group, first, count, rows);
          Multiply::run(
              windows.width(), windows.outputs(), count,
              {rows, windows.width(), true},
              {windows.result(dy, group, first), windows.channels_out()},
              first > 0, {windows.weights(dw, group), windows.channels_out()},
              own);
        });
      },
      windows.scratch_size() * sizeof(T) + Multiply::kScratchBytes);
}

}  // namespace weft
