// Gradients of weights of small windows by fewer multiplications, as
// convolutions have them (winograd_conv.cpp): that of G w is, at each point,
// the product of the image there and of the results' gradients there, summed
// over all tiles; the transpose of G makes weights of it.
//
// Tiles are cut into groups, whatever the threads, each of which has its sums:
// so one order of additions gives one result.
//
// What is not finite is summed anew, as there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/winograd_weight_gradient.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/cpu/winograd_call.h"
#include "weft/kernels/cpu/winograd_tiles.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::broadcast;
using simd::kLanes;
using simd::Vector;

// Tiles that are transformed before they are multiplied.
constexpr std::size_t kBlockTiles = 32;
// A group has so many tiles, that adding up groups is little beside its
// products, and all sums have so much memory.
constexpr std::size_t kGroupTiles = 64;
constexpr std::size_t kMostGroups = 16;
constexpr std::size_t kSumsBytes = 16 << 20;
// Output channels that a task has.
constexpr std::size_t kColumns = 64;

template <class Window>
class WinogradWeightGradient final : public PreparedKernel {
  static constexpr std::size_t kPoints = Window::kPoints;
  static constexpr std::size_t kTaps = Window::kTaps;

 public:
  explicit WinogradWeightGradient(const OpCall& call)
      : channels_(at(call.input(0).shape[3])),
        columns_(at(call.input(1).shape[3])),
        tiles_(call.input(0).shape, call.input(1).shape,
               call.attributes.integers("padding")[0],
               call.attributes.integers("padding")[2]),
        chunks_((columns_ + kColumns - 1) / kColumns),
        zeros_(std::max(channels_, columns_), 0.f) {
    const std::size_t each = kPoints * sums_step() * sizeof(float);
    groups_ = std::clamp<std::size_t>(
        std::min(kSumsBytes / each, tiles_.count() / kGroupTiles), 1,
        kMostGroups);
    const bool is_small = call.op.cost()(call).flops < kWinogradThreadFlops;
    slots_ = is_small ? 1
                      : std::min(groups_ * chunks_,
                                 static_cast<std::size_t>(thread_count()));
  }

  std::size_t scratch_bytes() const override {
    return sizeof(float) *
           (groups_ * kPoints * sums_step() + slots_ * slot_size());
  }
  std::string implementation() const override { return Window::name(); }

  void run(const KernelBuffers& buffers) noexcept override {
    const Operands of{static_cast<const float*>(buffers.inputs[0]),
                      static_cast<const float*>(buffers.inputs[1]),
                      static_cast<float*>(buffers.outputs[0]),
                      static_cast<float*>(buffers.scratch)};
    float* rooms = of.sums + groups_ * kPoints * sums_step();
    parallel_for(static_cast<std::int64_t>(slots_), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t slot = at(begin); slot < at(end); ++slot) {
                     for (std::size_t i = slot; i < groups_ * chunks_;
                          i += slots_) {
                       sum_group(of, i / chunks_, i % chunks_,
                                 rooms + slot * slot_size());
                     }
                   }
                 });
    parallel_for(static_cast<std::int64_t>(channels_),
                 1 + static_cast<std::int64_t>(2048 / columns_),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t c = at(begin); c < at(end); ++c) {
                     finish_channel(of, c);
                   }
                 });
  }

 private:
  struct Operands {
    const float* x;
    const float* dy;
    float* dw;
    float* sums;  // of group g at point p: + (g * kPoints + p) * sums_step()
  };

  std::size_t sums_step() const {
    return channels_ * up_to_lanes(columns_) + kWinogradApart;
  }
  // Tiles at a point: of the image, and of a chunk of the gradients.
  std::size_t image_step() const {
    return kBlockTiles * channels_ + kWinogradApart;
  }
  std::size_t gradient_step() const {
    return kBlockTiles * std::min(kColumns, up_to_lanes(columns_)) +
           kWinogradApart;
  }
  std::size_t slot_size() const {
    return kPoints * (image_step() + gradient_step());
  }

  // The sums of a group of tiles at all points, for some output channels.
  void sum_group(const Operands& of, std::size_t group, std::size_t chunk,
                 float* room) const noexcept {
    const std::size_t column = chunk * kColumns;
    const std::size_t count = std::min(kColumns, columns_ - column);
    const std::size_t padded = up_to_lanes(count);
    const std::size_t end = tiles_.count() * (group + 1) / groups_;
    const std::size_t first = tiles_.count() * group / groups_;
    float* gradients = room + kPoints * image_step();
    for (std::size_t t = first; t < end; t += kBlockTiles) {
      const std::size_t tiles = std::min(kBlockTiles, end - t);
      for (std::size_t i = 0; i < tiles; ++i) {
        const auto pixels = tiles_.pixels(t + i);
        const auto results = tiles_.results(t + i);
        winograd_at_points<simd::WinogradImage<Window::kRows>,
                           simd::WinogradImage<Window::kColumns>>(
            of.x, pixels.data(), channels_, channels_, zeros_.data(),
            room + i * channels_, image_step());
        winograd_at_points<simd::WinogradOutputGradient<Window::kRows>,
                           simd::WinogradOutputGradient<Window::kColumns>>(
            of.dy + column, results.data(), columns_, count, zeros_.data(),
            gradients + i * padded, gradient_step());
      }
      for (std::size_t p = 0; p < kPoints; ++p) {
        simd::tile_product<float>(
            channels_, count, tiles, {room + p * image_step(), 1, channels_},
            {gradients + p * gradient_step(), padded},
            {of.sums + (group * kPoints + p) * sums_step() + column,
             up_to_lanes(columns_)},
            t > first);
      }
    }
  }

  // The gradients of one input channel's weights.
  void finish_channel(const Operands& of, std::size_t channel) const noexcept {
    for_each_channel_vector(columns_, [&](std::size_t k, auto lanes) HWY_ATTR {
      std::array<Vector, kTaps> dw;
      // 0 times what is finite is 0, and NaN times what is not.
      Vector is_finite = broadcast(0.f);
      const float* from = of.sums + channel * up_to_lanes(columns_) + k;
      simd::winograd_both_ways<simd::WinogradWeightsGradient<Window::kRows>,
                               simd::WinogradWeightsGradient<Window::kColumns>>(
          [&](std::size_t i, std::size_t j) HWY_ATTR {
            const float* each =
                from + (i * Window::kPointColumns + j) * sums_step();
            Vector sum = lanes.load(each);
            for (std::size_t g = 1; g < groups_; ++g) {
              each += kPoints * sums_step();
              sum = hn::Add(sum, lanes.load(each));
            }
            return sum;
          },
          [&](std::size_t i, std::size_t j, Vector v) HWY_ATTR {
            is_finite = hn::MulAdd(v, broadcast(0.f), is_finite);
            dw[i * Window::kColumns + j] = v;
          });
      if (!hn::AllFalse(simd::Floats(), hn::IsNaN(is_finite))) {
        sum_windows(of, channel, k, lanes, dw);
      }
      for (std::size_t tap = 0; tap < kTaps; ++tap) {
        lanes.store(dw[tap],
                    of.dw + (tap * channels_ + channel) * columns_ + k);
      }
    });
  }

  // The same as sums over all windows.
  template <class Lanes>
  void sum_windows(const Operands& of, std::size_t channel, std::size_t column,
                   const Lanes& lanes,
                   std::array<Vector, kTaps>& dw) const noexcept {
    dw.fill(broadcast(0.f));
    for (std::size_t t = 0; t < tiles_.count(); ++t) {
      const auto pixels = tiles_.pixels(t);
      const auto results = tiles_.results(t);
      for (std::size_t r = 0; r < Window::kResults; ++r) {
        if (results[r] < 0) continue;
        const Vector dy =
            lanes.load(of.dy + at(results[r]) * columns_ + column);
        for (std::size_t tap = 0; tap < kTaps; ++tap) {
          const std::int64_t pixel = pixels[Window::pixel_of(r, tap)];
          if (pixel < 0) continue;
          const float x = of.x[at(pixel) * channels_ + channel];
          dw[tap] = hn::MulAdd(broadcast(x), dy, dw[tap]);
        }
      }
    }
  }

  std::size_t channels_, columns_;  // of the image, and of the results
  WinogradTiles<Window> tiles_;
  std::size_t chunks_, groups_ = 1, slots_ = 1;
  std::vector<float> zeros_;  // a pixel outside of the image
};

std::unique_ptr<PreparedKernel> prepare_weight_gradient(const OpCall& call) {
  return for_winograd_window(
      call.outputs[0].shape,
      [&]<class Window>() -> std::unique_ptr<PreparedKernel> {
        return std::make_unique<WinogradWeightGradient<Window>>(call);
      });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> weight_gradient_declines(const OpCall& call) {
  return winograd_declines(call, call.outputs[0].shape);
}

}  // namespace

void register_cpu_winograd_weight_gradient(KernelRegistry& kernels) {
  kernels.add({.op = "conv2d_weight_gradient",
               .name = "simd:winograd",
               // All kernels that compute sums come before it.
               .rank = 1,
               .declines = weight_gradient_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_weight_gradient),
               .competes = true});
}

}  // namespace weft
#endif
