// The passage of tiles to and from memory.
#include "weft/kernels/loop/tile_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/loop/tile_memory.cpp"
#include <cstring>
#include <hwy/foreach_target.h>
#include <type_traits>

#include "weft/kernels/loop/map_tile.h"
#include "weft/kernels/loop/wide_tiles.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;

template <class T>
constexpr bool is_half =
    std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

void load(DType dtype, const void* source, float* tile,
          std::int64_t size) noexcept {
  dispatch(dtype, [&]<class T>(T) {
    const T* from = static_cast<const T*>(source);
    if constexpr (std::is_same_v<T, float>) {
      std::memcpy(tile, from, static_cast<std::size_t>(size) * sizeof(float));
    } else if constexpr (is_half<T>) {
      simd::map(from, tile, static_cast<std::size_t>(size),
                [](auto x) { return x; });
    } else if constexpr (std::is_same_v<T, bool>) {
      // The compiler makes vectors of bools once they are read as bytes.
      const auto* bytes = static_cast<const std::uint8_t*>(source);
      for (std::int64_t i = 0; i < size; ++i) {
        tile[i] = static_cast<float>(static_cast<int>(bytes[i]));
      }
    } else {
      for (std::int64_t i = 0; i < size; ++i) {
        tile[i] = static_cast<float>(from[i]);
      }
    }
  });
}

// Whole vectors; returns how many elements that are.
template <class T>
std::int64_t store_integers(const float* tile, T* to, std::int64_t size) {
  const hn::Rebind<std::int32_t, Lanes> words;
  const hn::Rebind<T, Lanes> narrow;
  const auto step = static_cast<std::int64_t>(hn::Lanes(Lanes()));
  std::int64_t i = 0;
  for (; i + step <= size; i += step) {
    // The numbers are of the dtype already, so the narrowing loses nothing.
    const auto word = hn::ConvertTo(words, hn::LoadU(Lanes(), tile + i));
    hn::StoreU(hn::DemoteTo(narrow, word), narrow, to + i);
  }
  return i;
}

void store(DType dtype, const float* tile, void* target,
           std::int64_t size) noexcept {
  dispatch(dtype, [&]<class T>(T) {
    T* to = static_cast<T*>(target);
    if constexpr (std::is_same_v<T, float>) {
      std::memcpy(to, tile, static_cast<std::size_t>(size) * sizeof(float));
    } else if constexpr (is_half<T>) {
      simd::map(tile, to, static_cast<std::size_t>(size),
                [](auto x) { return x; });
    } else {
      std::int64_t i = 0;
      // A bool is 1 for whatever is not 0, which narrowing would not make of
      // it.
      if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(float) &&
                    !std::is_same_v<T, bool>) {
        i = store_integers(tile, to, size);
      }
      for (; i < size; ++i) {
        if constexpr (std::is_same_v<T, bool>)
          to[i] = tile[i] != 0.0f;
        else
          to[i] = static_cast<T>(tile[i]);
      }
    }
  });
}

void accumulate(const float* x, float* sum, std::int64_t size) noexcept {
  map_tile<float, 2>({{x, sum, nullptr}, sum, size, {}},
                     [](auto a, auto b) { return hn::Add(a, b); });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void load_tile(DType dtype, const void* source, void* tile, std::int64_t size,
               TileType type) noexcept {
  if (type != TileType::kF32) return load_wide(type, dtype, source, tile, size);
  WEFT_FOR_MACHINE(load)(dtype, source, static_cast<float*>(tile), size);
}

void store_tile(DType dtype, const void* tile, void* target, std::int64_t size,
                TileType type) noexcept {
  if (type != TileType::kF32) {
    return store_wide(type, dtype, tile, target, size);
  }
  WEFT_FOR_MACHINE(store)(dtype, static_cast<const float*>(tile), target, size);
}

void accumulate_tile(const void* x, void* sum, std::int64_t size,
                     TileType type) noexcept {
  if (type != TileType::kF32) return accumulate_wide(type, x, sum, size);
  const auto* from = static_cast<const float*>(x);
  WEFT_FOR_MACHINE(accumulate)(from, static_cast<float*>(sum), size);
}

}  // namespace weft
#endif
