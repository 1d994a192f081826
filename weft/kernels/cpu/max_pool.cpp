// Max pools, vectorised over channels, which lie side by side in NHWC. Some
// loops over channels are plain: the compiler turns them into SIMD.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/max_pool.cpp"
#include <array>
#include <hwy/foreach_target.h>
#include <limits>

#include "weft/kernels/cpu/pool_windows.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;

template <class T>
class MaxPool : public PoolKernel<T> {
 public:
  explicit MaxPool(const OpCall& call)
      : PoolKernel<T>(call, call.input(0), call.outputs[0]),
        finds_positions_(call.is_read(1)) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const Geometry& g = this->g_;
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    T* y = static_cast<T*>(buffers.outputs[0]);
    auto* position = static_cast<std::uint8_t*>(buffers.outputs[1]);
    const auto channels = static_cast<std::size_t>(g.channels);
    this->for_each_row([&](std::int64_t image, std::int64_t row) {
      const T* source = x + image * g.image_size();
      for (std::int64_t column = 0; column < g.y_columns; ++column) {
        const std::int64_t result =
            image * g.result_size() + (row * g.y_columns + column) * g.channels;
        const Place place{row, column, y + result, position + result};
        std::size_t c = 0;
        // Several vectors share the arithmetic of a window's addresses.
        for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
          window<4>(source, place, c, kLanes);
        }
        for (; c + 2 * kLanes <= channels; c += 2 * kLanes) {
          window<2>(source, place, c, kLanes);
        }
        for (; c + kLanes <= channels; c += kLanes) {
          window<1>(source, place, c, kLanes);
        }
        // Part of a vector is loaded apart, so that nothing is read behind the
        // image.
        if (c < channels) window<1>(source, place, c, channels - c);
      }
    });
  }

 private:
  struct Place {
    std::int64_t row, column;
    T* y;
    std::uint8_t* position;
  };
  using Integers = hn::RebindToSigned<simd::Floats>;

  // kVectors vectors of channels from `c` on; `count` of the last one count.
  template <std::size_t kVectors>
  void window(const T* source, const Place& place, std::size_t c,
              std::size_t count) const {
    if (finds_positions_) {
      find_positions<kVectors>(source, place, c, count);
    } else {
      find_maxima<kVectors>(source, place, c, count);
    }
  }

  // A network for inference reads no positions, without which a pixel takes
  // half of the instructions.
  template <std::size_t kVectors>
  void find_maxima(const T* source, const Place& place, std::size_t c,
                   std::size_t count) const {
    const simd::Floats floats;
    simd::Vector best[kVectors];
    hn::Mask<simd::Floats> has_nan[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) {
      best[i] = simd::broadcast(-std::numeric_limits<float>::infinity());
      has_nan[i] = hn::IsNaN(best[i]);
    }
    this->g_.for_each_tap(
        place.row, place.column, [&](std::int64_t offset, std::int64_t) {
          const T* pixel = source + offset + c;
          for (std::size_t i = 0; i < kVectors; ++i) {
            const simd::Vector value = load_channels(pixel + i * kLanes, count);
            has_nan[i] = hn::Or(has_nan[i], hn::IsNaN(value));
            best[i] = hn::Max(value, best[i]);
          }
        });
    for (std::size_t i = 0; i < kVectors; ++i) {
      store_best(hn::IfThenElse(has_nan[i], hn::NaN(floats), best[i]),
                 place.y + c + i * kLanes, count);
    }
  }

  static void store_best(simd::Vector best, T* y, std::size_t count) {
    if (count == kLanes)
      simd::store(best, y);
    else
      simd::store_part(best, y, count);
  }

  template <std::size_t kVectors>
  void find_positions(const T* source, const Place& place, std::size_t c,
                      std::size_t count) const {
    simd::Vector best[kVectors];
    hn::Vec<Integers> where[kVectors];
    const auto first =
        static_cast<std::int32_t>(this->g_.first_tap(place.row, place.column));
    for (std::size_t i = 0; i < kVectors; ++i) {
      best[i] = simd::broadcast(-std::numeric_limits<float>::infinity());
      // Where nothing beats minus infinity, the position is that of a pixel of
      // the image: padding has no gradient to receive.
      where[i] = hn::Set(Integers(), first);
    }
    this->g_.for_each_tap(
        place.row, place.column, [&](std::int64_t offset, std::int64_t tap) {
          const T* pixel = source + offset + c;
          const auto number =
              hn::Set(Integers(), static_cast<std::int32_t>(tap));
          for (std::size_t i = 0; i < kVectors; ++i) {
            const simd::Vector value = load_channels(pixel + i * kLanes, count);
            // Greater, or not a number where the best still is one.
            const auto wins =
                hn::AndNot(hn::Le(value, best[i]), hn::Eq(best[i], best[i]));
            best[i] = hn::IfThenElse(wins, value, best[i]);
            where[i] = hn::IfThenElse(hn::RebindMask(Integers(), wins), number,
                                      where[i]);
          }
        });
    for (std::size_t i = 0; i < kVectors; ++i) {
      store_position(where[i], place.position + c + i * kLanes, count);
      store_best(best[i], place.y + c + i * kLanes, count);
    }
  }

  static void store_position(hn::Vec<Integers> where, std::uint8_t* position,
                             std::size_t count) {
    const hn::Rebind<std::uint8_t, simd::Floats> bytes;
    // Not TruncateTo, whose AVX3_DL form is wrong in Highway 1.0.3.
    const auto small = hn::DemoteTo(bytes, where);
    if (count == kLanes) {
      hn::StoreU(small, bytes, position);
    } else {
      std::array<std::uint8_t, kLanes> part;
      hn::StoreU(small, bytes, part.data());
      std::copy_n(part.data(), count, position);
    }
  }

  bool finds_positions_;
};

template <class T>
class MaxPoolScatter : public PoolGradient<T> {
 public:
  explicit MaxPoolScatter(const OpCall& call)
      : PoolGradient<T>(call, call.outputs[0], call.input(0)) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const T* dy = static_cast<const T*>(buffers.inputs[0]);
    const auto* position = static_cast<const std::uint8_t*>(buffers.inputs[1]);
    this->sum_windows(
        static_cast<T*>(buffers.outputs[0]),
        [&](std::int64_t, std::int64_t tap, std::int64_t offset,
            std::size_t count) {
          const auto is_here =
              hn::Eq(load_position(position + offset, count),
                     hn::Set(Integers(), static_cast<std::int32_t>(tap)));
          return hn::IfThenElseZero(hn::RebindMask(simd::Floats(), is_here),
                                    load_channels(dy + offset, count));
        });
  }

 private:
  using Integers = hn::RebindToSigned<simd::Floats>;

  static hn::Vec<Integers> load_position(const std::uint8_t* position,
                                         std::size_t count) {
    const hn::Rebind<std::uint8_t, simd::Floats> bytes;
    if (count == kLanes) {
      return hn::PromoteTo(Integers(), hn::LoadU(bytes, position));
    }
    std::array<std::uint8_t, kLanes> part{};
    std::copy_n(position, count, part.data());
    return hn::PromoteTo(Integers(), hn::LoadU(bytes, part.data()));
  }
};

template <class T>
class MaxPoolGather : public PoolKernel<T> {
 public:
  explicit MaxPoolGather(const OpCall& call)
      : PoolKernel<T>(call, call.input(0), call.outputs[0]) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const Geometry& g = this->g_;
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    const auto* position = static_cast<const std::uint8_t*>(buffers.inputs[1]);
    T* y = static_cast<T*>(buffers.outputs[0]);
    this->for_each_row([&](std::int64_t image, std::int64_t row) {
      for (std::int64_t column = 0; column < g.y_columns; ++column) {
        const std::int64_t result =
            image * g.result_size() + (row * g.y_columns + column) * g.channels;
        T* to = y + result;
        const std::uint8_t* where = position + result;
        // A position that no tap of the window has gives zero, as in the
        // reference.
        std::fill_n(to, g.channels, T(0.f));
        g.for_each_tap(row, column, [&](std::int64_t offset, std::int64_t tap) {
          const T* from = x + image * g.image_size() + offset;
          const auto number = static_cast<std::uint8_t>(tap);
#pragma omp simd
          for (std::int64_t c = 0; c < g.channels; ++c) {
            to[c] = where[c] == number ? from[c] : to[c];
          }
        });
      }
    });
  }
};

std::optional<std::string> declines_position(const OpCall& call) {
  const Integers& window = call.attributes.integers("window");
  // Positions within a window are bytes.
  if (window[0] * window[1] > 256) return "the window has more than 256 pixels";
  return declines_dtype(call);
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "max_pool",
               .name = "simd:max_pool",
               .rank = 10,
               .declines = declines_position,
               .prepare = prepare_f32_or_bf16<MaxPool>});
  kernels.add({.op = "max_pool_scatter",
               .name = "simd:max_pool_scatter",
               .rank = 10,
               .declines = declines_position,
               .prepare = prepare_f32_or_bf16<MaxPoolScatter>});
  kernels.add({.op = "max_pool_gather",
               .name = "simd:max_pool_gather",
               .rank = 10,
               .declines = declines_position,
               .prepare = prepare_f32_or_bf16<MaxPoolGather>});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_max_pool(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
