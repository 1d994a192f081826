// Average pools, vectorised over channels, which lie side by side in NHWC.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/avg_pool.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/pool_windows.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;

template <class T>
class AvgPool : public PoolKernel<T> {
 public:
  explicit AvgPool(const OpCall& call)
      : PoolKernel<T>(call, call.input(0), call.outputs[0]) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const Geometry& g = this->g_;
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    T* y = static_cast<T*>(buffers.outputs[0]);
    const auto channels = static_cast<std::size_t>(g.channels);
    this->for_each_row([&](std::int64_t image, std::int64_t row) {
      const T* source = x + image * g.image_size();
      T* target = y + image * g.result_size() + row * g.y_columns * g.channels;
      for (std::int64_t column = 0; column < g.y_columns; ++column) {
        const Place place{row, column, target + column * g.channels};
        std::size_t c = 0;
        // Four vectors share the arithmetic of a window's addresses.
        for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
          window<4>(source, place, c, simd::AllLanes<T>());
        }
        for (; c + kLanes <= channels; c += kLanes) {
          window<1>(source, place, c, simd::AllLanes<T>());
        }
        if (c < channels) {
          window<1>(source, place, c, simd::SomeLanes<T>{channels - c});
        }
      }
    });
  }

 private:
  struct Place {
    std::int64_t row, column;
    T* y;
  };

  // Sums are f32 also for bf16 images, and rounded once.
  template <std::size_t kVectors, class Lanes>
  void window(const T* source, const Place& place, std::size_t c,
              const Lanes& lanes) const {
    simd::Vector sums[kVectors];
    for (simd::Vector& sum : sums) sum = simd::broadcast(0.f);
    this->g_.for_each_tap(
        place.row, place.column, [&](std::int64_t offset, std::int64_t) {
          const T* pixel = source + offset + c;
          for (std::size_t i = 0; i < kVectors; ++i) {
            sums[i] = hn::Add(sums[i], lanes.load(pixel + i * kLanes));
          }
        });
    const simd::Vector scale = simd::broadcast(
        1.f / static_cast<float>(this->g_.tap_count(place.row, place.column)));
    for (std::size_t i = 0; i < kVectors; ++i) {
      lanes.store(hn::Mul(sums[i], scale), place.y + c + i * kLanes);
    }
  }
};

template <class T>
class AvgPoolGradient : public PoolGradient<T> {
 public:
  explicit AvgPoolGradient(const OpCall& call)
      : PoolGradient<T>(call, call.outputs[0], call.input(0)) {
    const Geometry& g = this->g_;
    for (std::int64_t row = 0; row < g.y_rows; ++row) {
      for (std::int64_t column = 0; column < g.y_columns; ++column) {
        scales_.push_back(1.f / static_cast<float>(g.tap_count(row, column)));
      }
    }
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const T* dy = static_cast<const T*>(buffers.inputs[0]);
    this->sum_windows(static_cast<T*>(buffers.outputs[0]),
                      [&](std::int64_t window, std::int64_t,
                          std::int64_t offset, std::size_t count) {
                        const float scale =
                            scales_[static_cast<std::size_t>(window)];
                        return hn::Mul(load_channels(dy + offset, count),
                                       simd::broadcast(scale));
                      });
  }

 private:
  std::vector<float> scales_;  // for each window of an image
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "avg_pool",
               .name = "simd:avg_pool",
               .rank = 10,
               .declines = declines_dtype,
               .prepare = prepare_f32_or_bf16<AvgPool>});
  kernels.add({.op = "avg_pool_gradient",
               .name = "simd:avg_pool_gradient",
               .rank = 10,
               .declines = declines_dtype,
               .prepare = prepare_f32_or_bf16<AvgPoolGradient>});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_avg_pool(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
