// Depthwise convolutions between two clamps (ops/clamped_conv.cpp): each
// channel meets weights of its own, so that a vector is a few channels of a
// pixel. For some results beside each other a row of pixels is loaded and
// clamped once, and the sums stay in registers until they are clamped in turn.
//
// The sums of an element have one order, whatever the threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/depthwise_conv.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/window.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::broadcast;
using simd::kLanes;
using simd::Vector;

// Results beside each other whose sums are in registers: sides of the usual
// images are multiples of it.
constexpr std::int64_t kResults = 7;
constexpr std::int64_t kTaps = 3;  // and windows have most often so many
// What a thread costs.
constexpr double kThreadFlops = 150e3;
// So many tasks can be shared out evenly.
constexpr std::int64_t kManyTasks = 32;

struct Bounds {
  Vector low, high;

  // NaN stays, as the second operand of a vector's maximum and minimum.
  Vector clamp(Vector x) const { return hn::Min(high, hn::Max(low, x)); }
};

class DepthwiseConvolution final : public PreparedKernel {
 public:
  explicit DepthwiseConvolution(const OpCall& call)
      : x_(call.input(0).shape),
        y_(call.outputs[0].shape),
        window_(
            window_of(call, call.input(1).shape[0], call.input(1).shape[1])),
        has_bias_(call.has_input(2)),
        image_low_(static_cast<float>(call.attributes.real("image_low"))),
        image_high_(static_cast<float>(call.attributes.real("image_high"))),
        low_(static_cast<float>(call.attributes.real("low"))),
        high_(static_cast<float>(call.attributes.real("high"))) {
    const std::int64_t rows = y_[0] * y_[1];
    const auto lanes = static_cast<std::int64_t>(kLanes);
    const std::int64_t vectors = (x_[3] + lanes - 1) / lanes;
    blocks_ = std::min(vectors, (kManyTasks + rows - 1) / rows);
    tasks_ = rows * blocks_;
    grain_ = 1 + static_cast<std::int64_t>(kThreadFlops *
                                           static_cast<double>(tasks_) /
                                           call.op.cost()(call).flops);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const auto lanes = static_cast<std::int64_t>(kLanes);
    const std::int64_t vectors = (x_[3] + lanes - 1) / lanes;
    parallel_for(tasks_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        // A task has some channels of a row of results.
        const std::int64_t block = i % blocks_;
        const std::int64_t first = vectors * block / blocks_ * lanes;
        const std::int64_t last = vectors * (block + 1) / blocks_ * lanes;
        convolve_row(buffers, i / blocks_, first, std::min(last, x_[3]));
      }
    });
  }

 private:
  // Where a vector of channels lies, and the row of results.
  struct Place {
    const float* x;  // of the first pixel of the image
    const float* w;
    const float* bias;  // null for none
    float* y;           // of the first pixel of the row
    std::int64_t row;
  };

  void convolve_row(const KernelBuffers& buffers, std::int64_t row,
                    std::int64_t first, std::int64_t last) const noexcept {
    const std::int64_t image = row / y_[1];
    Place place{};
    place.row = row % y_[1];
    const auto at_channel = [&](std::int64_t c) {
      place.x = static_cast<const float*>(buffers.inputs[0]) +
                image * x_[1] * x_[2] * x_[3] + c;
      place.w = static_cast<const float*>(buffers.inputs[1]) + c;
      if (has_bias_) {
        place.bias = static_cast<const float*>(buffers.inputs[2]) + c;
      }
      place.y =
          static_cast<float*>(buffers.outputs[0]) + row * y_[2] * y_[3] + c;
    };
    // Channels of the same pixels lie side by side.
    for (std::int64_t column = 0; column < y_[2]; column += kResults) {
      std::int64_t c = first;
      const auto lanes = static_cast<std::int64_t>(kLanes);
      for (; c + lanes <= last; c += lanes) {
        at_channel(c);
        convolve(place, column, simd::AllLanes<float>());
      }
      if (c < last) {
        at_channel(c);
        convolve(place, column, simd::SomeLanes<float>{at(last - c)});
      }
    }
  }

  template <class Lanes>
  void convolve(const Place& place, std::int64_t column,
                const Lanes& lanes) const noexcept {
    const WindowAxis& axis = window_.columns;
    const std::int64_t first = axis.position(column, 0);
    const std::int64_t pixels = (kResults - 1) * axis.stride + kTaps;
    const bool misses_first = first < 0;
    const bool misses_last = first + pixels > x_[2];
    if (column + kResults > y_[2] || axis.kernel != kTaps ||
        axis.dilation > 1 || axis.stride > 2 || first < -1 ||
        first + pixels > x_[2] + 1) {
      const std::int64_t end = std::min(column + kResults, y_[2]);
      for (; column < end; ++column) convolve_one(place, column, lanes);
    } else if (axis.stride == 1) {
      convolve_some<1>(place, column, lanes, misses_first, misses_last);
    } else {
      convolve_some<2>(place, column, lanes, misses_first, misses_last);
    }
  }

  template <std::int64_t kStride, class Lanes>
  void convolve_some(const Place& place, std::int64_t column,
                     const Lanes& lanes, bool misses_first,
                     bool misses_last) const noexcept {
    if (misses_first && misses_last) {
      convolve_row_of<kStride, true, true>(place, column, lanes);
    } else if (misses_first) {
      convolve_row_of<kStride, true, false>(place, column, lanes);
    } else if (misses_last) {
      convolve_row_of<kStride, false, true>(place, column, lanes);
    } else {
      convolve_row_of<kStride, false, false>(place, column, lanes);
    }
  }

  // The image does not have the first or the last pixel of the row: all is
  // known to the compiler, so that it keeps each sum in a register.
  template <std::int64_t kStride, bool kMissesFirst, bool kMissesLast,
            class Lanes>
  void convolve_row_of(const Place& place, std::int64_t column,
                       const Lanes& lanes) const noexcept {
    const Bounds of_image{broadcast(image_low_), broadcast(image_high_)};
    constexpr std::int64_t kPixels = (kResults - 1) * kStride + kTaps;
    const std::int64_t channels = x_[3];
    const std::int64_t first = window_.columns.position(column, 0) * channels;
    Vector sums[kResults];
    for (Vector& sum : sums) sum = start(place, lanes);
    for (std::int64_t t = 0; t < window_.rows.kernel; ++t) {
      const std::int64_t line = window_.rows.position(place.row, t);
      if (line < 0 || line >= x_[1]) continue;
      const float* pixels = place.x + line * x_[2] * channels;
      Vector taps[kTaps];
      for (std::int64_t u = 0; u < kTaps; ++u) {
        taps[u] = lanes.load(place.w + (t * kTaps + u) * channels);
      }
      // Result i reads pixel i kStride + u by tap u. The pixels of one
      // remainder after another keep loops so short that they are unrolled.
      for (std::int64_t r = 0; r < kStride; ++r) {
        for (std::int64_t m = 0; m < kResults + (kTaps - 1 - r) / kStride;
             ++m) {
          const std::int64_t j = m * kStride + r;
          if ((kMissesFirst && j == 0) || (kMissesLast && j == kPixels - 1)) {
            continue;
          }
          const Vector pixel =
              of_image.clamp(lanes.load(pixels + (first + j * channels)));
          for (std::int64_t u = r; u < kTaps; u += kStride) {
            const std::int64_t i = m - (u - r) / kStride;
            if (i < 0 || i >= kResults) continue;
            sums[i] = hn::MulAdd(pixel, taps[u], sums[i]);
          }
        }
      }
    }
    for (std::int64_t i = 0; i < kResults; ++i) {
      finish(place, column + i, sums[i], lanes);
    }
  }

  // With any taps and strides.
  template <class Lanes>
  void convolve_one(const Place& place, std::int64_t column,
                    const Lanes& lanes) const noexcept {
    const Bounds of_image{broadcast(image_low_), broadcast(image_high_)};
    Vector sum = start(place, lanes);
    for (std::int64_t t = 0; t < window_.rows.kernel; ++t) {
      const std::int64_t line = window_.rows.position(place.row, t);
      if (line < 0 || line >= x_[1]) continue;
      for (std::int64_t u = 0; u < window_.columns.kernel; ++u) {
        const std::int64_t from = window_.columns.position(column, u);
        if (from < 0 || from >= x_[2]) continue;
        const Vector pixel =
            of_image.clamp(lanes.load(place.x + (line * x_[2] + from) * x_[3]));
        const Vector tap =
            lanes.load(place.w + (t * window_.columns.kernel + u) * x_[3]);
        sum = hn::MulAdd(pixel, tap, sum);
      }
    }
    finish(place, column, sum, lanes);
  }

  template <class Lanes>
  static Vector start(const Place& place, const Lanes& lanes) noexcept {
    return place.bias == nullptr ? broadcast(0.f) : lanes.load(place.bias);
  }
  template <class Lanes>
  void finish(const Place& place, std::int64_t column, Vector sum,
              const Lanes& lanes) const noexcept {
    const Bounds of_result{broadcast(low_), broadcast(high_)};
    lanes.store(of_result.clamp(sum), place.y + column * y_[3]);
  }

  Shape x_, y_;
  Window window_;
  bool has_bias_;
  float image_low_, image_high_, low_, high_;
  std::int64_t blocks_;  // of channels
  std::int64_t tasks_, grain_;
};

std::unique_ptr<PreparedKernel> prepare_depthwise(const OpCall& call) {
  return std::make_unique<DepthwiseConvolution>(call);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> depthwise_declines(const OpCall& call) {
  for (const TensorType& type : call.inputs) {
    if (type.dtype != DType::kF32) {
      return fmt::format("computes in f32, not in {}", to_string(type.dtype));
    }
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  const Dim channels = call.input(0).shape[3];
  if (call.attributes.integer("groups") != channels ||
      call.outputs[0].shape[3] != channels) {
    return "takes a group for each channel, with one result";
  }
  return std::nullopt;
}

}  // namespace

void register_cpu_depthwise_conv(KernelRegistry& kernels) {
  kernels.add({.op = "clamped_conv2d",
               .name = "simd:depthwise",
               .rank = 10,
               .declines = depthwise_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_depthwise)});
}

}  // namespace weft
#endif
