// Patches of images: the taps of a window that lie side by side in the image do
// so in the patch, so that they are copied in runs.
#include <algorithm>
#include <cstring>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/ops/support/window.h"

namespace weft {
namespace {

class ImagePatches : public PreparedKernel {
 public:
  explicit ImagePatches(const OpCall& call)
      : x_(call.input(0).shape),
        y_(call.outputs[0].shape),
        element_(size_of(call.input(0).dtype)) {
    const Integers& kernel = call.attributes.integers("kernel");
    window_ = window_of(call, kernel[0], kernel[1]);
    channels_ = x_[3] / y_[3];
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const auto* x = static_cast<const std::byte*>(buffers.inputs[0]);
    auto* y = static_cast<std::byte*>(buffers.outputs[0]);
    // A thread costs about as much as copying so many rows of windows.
    constexpr std::int64_t kLeastRows = 8;
    parallel_for(y_[0] * y_[1], kLeastRows,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     copy_row(x, row / y_[1], row % y_[1],
                              y + bytes(row * y_[2] * y_[3] * y_[4]));
                   }
                 });
  }

 private:
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_;
  }

  // The windows of a row, one behind another.
  void copy_row(const std::byte* x, std::int64_t image, std::int64_t row,
                std::byte* y) const noexcept {
    for (std::int64_t column = 0; column < y_[2]; ++column) {
      for (std::int64_t group = 0; group < y_[3]; ++group) {
        for (std::int64_t tap = 0; tap < window_.rows.kernel; ++tap) {
          const std::int64_t from = window_.rows.position(row, tap);
          const std::size_t run = bytes(window_.columns.kernel * channels_);
          if (from < 0 || from >= x_[1]) {
            std::memset(y, 0, run);
          } else {
            copy_taps(x + bytes((image * x_[1] + from) * x_[2] * x_[3]), column,
                      group, y);
          }
          y += run;
        }
      }
    }
  }

  // The taps of a window's row, from a row of the image.
  void copy_taps(const std::byte* pixels, std::int64_t column,
                 std::int64_t group, std::byte* y) const noexcept {
    const WindowAxis& axis = window_.columns;
    const std::int64_t first = axis.position(column, 0);
    const std::int64_t last = axis.position(column, axis.kernel - 1);
    if (axis.dilation == 1 && y_[3] == 1 && first >= 0 && last < x_[2]) {
      std::memcpy(y, pixels + bytes(first * x_[3]),
                  bytes(axis.kernel * channels_));
      return;
    }
    const std::size_t run = bytes(channels_);
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap, y += run) {
      const std::int64_t from = axis.position(column, tap);
      if (from < 0 || from >= x_[2]) {
        std::memset(y, 0, run);
      } else {
        std::memcpy(y, pixels + bytes(from * x_[3] + group * channels_), run);
      }
    }
  }

  Shape x_;
  Shape y_;
  std::size_t element_;
  Window window_;
  std::int64_t channels_ = 0;  // of a group
};

}  // namespace

void register_cpu_patches(KernelRegistry& kernels) {
  kernels.add(
      {.op = "image_patches",
       .name = "cpu:copy",
       .rank = 10,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<ImagePatches>(call);
       }});
}

}  // namespace weft
