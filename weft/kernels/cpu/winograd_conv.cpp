// Convolutions of 3 x 3 windows by a quarter of the multiplications, and those
// of other small windows by fewer (kernels/simd/winograd.h): at each of 36
// points, a product of two matrices stands for all tiles and all channels
// (Lavin and Gray, 2016, algorithm 1). A thread has a block of tiles, which it
// transforms, multiplies and transforms back within its cache; bias, another
// image and relu join the results where they are.
//
// Rounding: one to three times the error of sums, and relative to the largest
// values under a tile, not under each window. What is not finite would spread
// over a tile, and weights that are not finite would meet padding: results that
// are not finite are computed anew, as sums. Any result that depends on such a
// value is one of them.
//
// Weights of 3 x 3 take four times their memory when they are transformed:
// once, where they never change.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/winograd_conv.cpp"
#include <algorithm>
#include <array>
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/shared_packing.h"
#include "weft/kernels/cpu/convolution_tail.h"
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

// Channels of results that are computed at a time.
constexpr std::size_t kColumns = 64;
// The images of a block take so much at all points, a part of the second-level
// cache.
constexpr std::size_t kBlockBytes = 256 << 10;

template <class Window>
class WinogradConvolution final : public PreparedKernel {
  static constexpr std::size_t kPoints = Window::kPoints;
  static constexpr std::size_t kResults = Window::kResults;
  static constexpr std::size_t kTaps = Window::kTaps;

 public:
  // A gradient is computed as a convolution whose weights are those of the
  // forward one, with exchanged channels and with taps that run backwards.
  WinogradConvolution(const OpCall& call, ConvolutionCall of, std::int64_t top,
                      std::int64_t left, bool is_gradient)
      : of_(std::move(of)),
        is_gradient_(is_gradient),
        columns_(at(call.outputs[0].shape[3])),
        tiles_(call.input(of_.images[0]).shape, call.outputs[0].shape, top,
               left) {
    for (const std::size_t i : of_.images) {
      image_channels_.push_back(at(call.input(i).shape[3]));
      channels_ += image_channels_.back();
    }
    zeros_.assign(channels_, 0.f);
    share_out(call.op.cost()(call).flops);
    if (const Tensor* known = call.known_input(of_.weights)) {
      packed_ = shared_packing(
          *known,
          fmt::format("winograd {} {} {} {} {} {}", Window::name(), kLanes,
                      kColumns, channels_, columns_,
                      is_gradient_ ? "gradient" : ""),
          [&] {
            Tensor packed =
                Tensor::zeros({DType::kF32, {static_cast<Dim>(packed_size())}});
            pack(known->data<float>(), packed.data<float>());
            return packed;
          });
    }
  }

  std::size_t scratch_bytes() const override {
    return sizeof(float) *
           (slots_ * slot_size() + (packed_ ? 0 : packed_size()));
  }

  std::string implementation() const override {
    return Window::name() + (packed_ ? ", packed once" : "");
  }

  void run(const KernelBuffers& buffers) noexcept override {
    auto* scratch = static_cast<float*>(buffers.scratch);
    const float* packed = nullptr;
    if (packed_) {
      packed = packed_->data<float>();
    } else {
      float* own = scratch + slots_ * slot_size();
      pack(static_cast<const float*>(buffers.inputs[of_.weights]), own);
      packed = own;
    }
    parallel_for(static_cast<std::int64_t>(slots_), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t slot = at(begin); slot < at(end); ++slot) {
                     Block block{buffers, packed, scratch + slot * slot_size()};
                     for (std::size_t i = slot; i < blocks_ * parts_;
                          i += slots_) {
                       convolve(block, i / parts_, i % parts_);
                     }
                   }
                 });
  }

 private:
  // Tiles that one thread has at a time, and its memory.
  struct Block {
    const KernelBuffers& buffers;
    const float* packed;
    float* scratch;
    std::size_t first = 0, count = 0;  // tiles
  };
  // Channels of results that are computed at a time; `padded` is a whole
  // number of vectors.
  struct Columns {
    std::size_t first, count, padded;
  };

  // Blocks of tiles of which each thread has as many; where there are too few
  // tiles for that, threads share the channels of a block.
  void share_out(double flops) {
    const auto threads = flops < kWinogradThreadFlops
                             ? 1
                             : static_cast<std::size_t>(thread_count());
    const std::size_t most = std::max<std::size_t>(
        kBlockBytes / (kPoints * channels_ * sizeof(float)),
        2 * simd::kBlockRows);
    blocks_ = (tiles_.count() + most - 1) / most;
    if (blocks_ % threads != 0) {
      const std::size_t more = (blocks_ / threads + 1) * threads;
      if (tiles_.count() / more >= simd::kBlockRows) {
        blocks_ = more;
      } else {
        parts_ = std::min(threads, chunks());
      }
    }
    slots_ = std::min(threads, blocks_ * parts_);
    image_step_ = most_tiles() * channels_ + kWinogradApart;
    product_step_ = most_tiles() * std::min(kColumns, up_to_lanes(columns_)) +
                    kWinogradApart;
  }

  std::size_t chunks() const { return (columns_ + kColumns - 1) / kColumns; }
  Columns chunk(std::size_t i) const {
    const std::size_t first = i * kColumns;
    const std::size_t count = std::min(kColumns, columns_ - first);
    return {first, count, up_to_lanes(count)};
  }
  std::size_t most_tiles() const {
    return (tiles_.count() + blocks_ - 1) / blocks_;
  }

  std::size_t slot_size() const {
    return kPoints * (image_step_ + product_step_);
  }
  std::size_t packed_size() const {
    return kPoints * channels_ * up_to_lanes(columns_);
  }

  // Weights at all points: each chunk of columns has, for each point, a matrix
  // with a row for each channel.
  void pack(const float* w, float* packed) const noexcept {
    parallel_for(
        static_cast<std::int64_t>(channels_),
        1 + static_cast<std::int64_t>(16384 / columns_),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::size_t i = 0; i < chunks(); ++i) {
            const Columns columns = chunk(i);
            float* panel = packed + kPoints * channels_ * columns.first;
            for (std::size_t c = at(begin); c < at(end); ++c) {
              for (std::size_t k = 0; k < columns.padded; k += kLanes) {
                pack_vector(w, c, columns.first + k,
                            panel + c * columns.padded + k,
                            channels_ * columns.padded);
              }
            }
          }
        });
  }
  void pack_vector(const float* w, std::size_t channel, std::size_t column,
                   float* to, std::size_t step) const noexcept {
    simd::winograd_both_ways<simd::WinogradWeights<Window::kRows>,
                             simd::WinogradWeights<Window::kColumns>>(
        [&](std::size_t i, std::size_t j) HWY_ATTR {
          return weights_at(w, i * Window::kColumns + j, channel, column);
        },
        [&](std::size_t i, std::size_t j, Vector v) HWY_ATTR {
          simd::store(v, to + (i * Window::kPointColumns + j) * step);
        });
  }

  // The weights of one tap and channel for the columns from `column` on; 0
  // behind the last.
  Vector weights_at(const float* w, std::size_t tap, std::size_t channel,
                    std::size_t column) const noexcept {
    const std::size_t count = std::min(kLanes, columns_ - column);
    if (is_gradient_) {
      std::array<float, kLanes> lanes{};
      const float* from =
          w + ((kTaps - 1 - tap) * columns_ + column) * channels_ + channel;
      for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i * channels_];
      return simd::load(lanes.data());
    }
    const float* from = w + (tap * channels_ + channel) * columns_ + column;
    return count == kLanes ? simd::load(from)
                           : simd::load_part(from, count, 0.f);
  }

  void convolve(Block& block, std::size_t index,
                std::size_t part) const noexcept {
    block.first = tiles_.count() * index / blocks_;
    block.count = tiles_.count() * (index + 1) / blocks_ - block.first;
    transform_images(block);
    for (std::size_t i = chunks() * part / parts_;
         i < chunks() * (part + 1) / parts_; ++i) {
      const Columns columns = chunk(i);
      multiply(block, columns);
      transform_results(block, columns);
    }
  }

  void transform_images(const Block& block) const noexcept {
    for (std::size_t t = 0; t < block.count; ++t) {
      const auto pixels = tiles_.pixels(block.first + t);
      float* to = block.scratch + t * channels_;
      for (std::size_t i = 0; i < of_.images.size(); ++i) {
        winograd_at_points<simd::WinogradImage<Window::kRows>,
                           simd::WinogradImage<Window::kColumns>>(
            image(block, i), pixels.data(), image_channels_[i],
            image_channels_[i], zeros_.data(), to, image_step_);
        to += image_channels_[i];
      }
    }
  }
  const float* image(const Block& block, std::size_t i) const {
    return static_cast<const float*>(block.buffers.inputs[of_.images[i]]);
  }

  float* products(const Block& block) const {
    return block.scratch + kPoints * image_step_;
  }

  void multiply(const Block& block, const Columns& columns) const noexcept {
    const float* panel = block.packed + kPoints * channels_ * columns.first;
    for (std::size_t p = 0; p < kPoints; ++p) {
      simd::tile_product<float>(
          block.count, columns.padded, channels_,
          {block.scratch + p * image_step_, channels_, 1},
          {panel + p * channels_ * columns.padded, columns.padded},
          {products(block) + p * product_step_, columns.padded}, false);
    }
  }

  void transform_results(const Block& block,
                         const Columns& columns) const noexcept {
    for (std::size_t t = 0; t < block.count; ++t) {
      const std::size_t tile = block.first + t;
      const auto results = tiles_.results(tile);
      const float* from = products(block) + t * columns.padded;
      for_each_channel_vector(columns.count,
                              [&](std::size_t k, auto lanes) HWY_ATTR {
                                transform_result(block, tile, results, from + k,
                                                 columns.first + k, lanes);
                              });
    }
  }

  template <class Lanes>
  void transform_result(const Block& block, std::size_t tile,
                        const typename Window::Results& results,
                        const float* from, std::size_t column,
                        const Lanes& lanes) const noexcept {
    std::array<Vector, kResults> y;
    // 0 times what is finite is 0, and NaN times what is not.
    Vector is_finite = broadcast(0.f);
    simd::winograd_both_ways<simd::WinogradOutput<Window::kRows>,
                             simd::WinogradOutput<Window::kColumns>>(
        [&](std::size_t i, std::size_t j) HWY_ATTR {
          return simd::load(from +
                            (i * Window::kPointColumns + j) * product_step_);
        },
        [&](std::size_t i, std::size_t j, Vector v) HWY_ATTR {
          is_finite = hn::MulAdd(v, broadcast(0.f), is_finite);
          y[i * Window::kResultColumns + j] = v;
        });
    if (!hn::AllFalse(simd::Floats(), hn::IsNaN(is_finite))) {
      sum_windows(block, tile, column, y);
    }
    const ConvolutionTail tail(of_, block.buffers, column, lanes);
    for (std::size_t r = 0; r < kResults; ++r) {
      if (results[r] >= 0) tail.store(y[r], at(results[r]) * columns_);
    }
  }

  // The results of a tile as sums over its windows.
  void sum_windows(const Block& block, std::size_t tile, std::size_t column,
                   std::array<Vector, kResults>& y) const noexcept {
    const auto* w =
        static_cast<const float*>(block.buffers.inputs[of_.weights]);
    const auto pixels = tiles_.pixels(tile);
    y.fill(broadcast(0.f));
    std::size_t channel = 0;
    for (std::size_t i = 0; i < of_.images.size(); ++i) {
      const float* x = image(block, i);
      for (std::size_t c = 0; c < image_channels_[i]; ++c, ++channel) {
        for (std::size_t tap = 0; tap < kTaps; ++tap) {
          const Vector weights = weights_at(w, tap, channel, column);
          for (std::size_t r = 0; r < kResults; ++r) {
            const std::int64_t pixel = pixels[Window::pixel_of(r, tap)];
            if (pixel < 0) continue;
            const float value = x[at(pixel) * image_channels_[i] + c];
            y[r] = hn::MulAdd(broadcast(value), weights, y[r]);
          }
        }
      }
    }
  }

  ConvolutionCall of_;
  bool is_gradient_;
  std::vector<std::size_t> image_channels_;
  std::size_t channels_ = 0;  // of all images
  std::size_t columns_;       // channels of the result
  WinogradTiles<Window> tiles_;
  std::size_t blocks_ = 1, parts_ = 1, slots_ = 1;
  // Distances between the images of a block, and its products, at two points.
  std::size_t image_step_ = 0, product_step_ = 0;
  std::vector<float> zeros_;  // a pixel outside of the image
  std::shared_ptr<const Tensor> packed_;
};

template <auto kCallOf>
std::unique_ptr<PreparedKernel> prepare_winograd(const OpCall& call) {
  const ConvolutionCall of = kCallOf(call);
  const Integers& padding = call.attributes.integers("padding");
  return for_winograd_window(
      call.input(of.weights).shape,
      [&]<class Window>() -> std::unique_ptr<PreparedKernel> {
        return std::make_unique<WinogradConvolution<Window>>(
            call, of, padding[0], padding[2], false);
      });
}

// A convolution of dy: result r of the forward one sees pixel r - p + t by tap
// t of n, so that pixel i meets dy at i + p - t, by tap n - 1 - t at i - (n - 1
// - p) + t.
std::unique_ptr<PreparedKernel> prepare_input_gradient(const OpCall& call) {
  const ConvolutionCall of{
      .images = {0}, .weights = 1, .bias = {}, .added = {}, .is_relu = false};
  const Shape& window = call.input(1).shape;
  const Integers& padding = call.attributes.integers("padding");
  return for_winograd_window(
      window, [&]<class Window>() -> std::unique_ptr<PreparedKernel> {
        return std::make_unique<WinogradConvolution<Window>>(
            call, of, window[0] - 1 - padding[0], window[1] - 1 - padding[2],
            true);
      });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

template <auto kCallOf>
std::optional<std::string> declines(const OpCall& call) {
  return winograd_declines(call, call.input(kCallOf(call).weights).shape);
}
std::optional<std::string> gradient_declines(const OpCall& call) {
  return winograd_declines(call, call.input(1).shape);
}

}  // namespace

void register_cpu_winograd_conv(KernelRegistry& kernels) {
  const auto add = [&](const char* op, auto declines, auto prepare,
                       bool in_place) {
    kernels.add({.op = op,
                 .name = "simd:winograd",
                 // All kernels that compute sums come before it.
                 .rank = 1,
                 .declines = declines,
                 .prepare = prepare,
                 .in_place = in_place,
                 .competes = true});
  };
  add("conv2d", declines<convolution>,
      WEFT_FOR_MACHINE(prepare_winograd<convolution>), false);
  add("conv2d_onto", declines<convolution_onto>,
      WEFT_FOR_MACHINE(prepare_winograd<convolution_onto>), true);
  add("conv2d_of_parts", declines<convolution_of_parts>,
      WEFT_FOR_MACHINE(prepare_winograd<convolution_of_parts>), false);
  add("conv2d_input_gradient", gradient_declines,
      WEFT_FOR_MACHINE(prepare_input_gradient), false);
}

}  // namespace weft
#endif
