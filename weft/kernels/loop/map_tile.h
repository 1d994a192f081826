// A function of vectors, applied to a tile.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_LOOP_MAP_TILE_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LOOP_MAP_TILE_H_
#undef WEFT_KERNELS_LOOP_MAP_TILE_H_
#else
#define WEFT_KERNELS_LOOP_MAP_TILE_H_
#endif

#include <hwy/highway.h>

#include "weft/kernels/loop/tile_functions.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

template <class T>
const T* operand(const Tile& tile, int n) {
  return static_cast<const T*>(tile.x[static_cast<std::size_t>(n)]);
}

// Applies `f` to whole vectors of T, and to the rest under a mask.
template <class T, int kArity, class F>
void map_tile(const Tile& tile, F f) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](int n, std::int64_t i) {
    return hn::LoadU(d, operand<T>(tile, n) + i);
  };
  auto* y = static_cast<T*>(tile.y);
  std::int64_t i = 0;
  for (; i + step <= tile.size; i += step) {
    if constexpr (kArity == 1) {
      hn::StoreU(f(load(0, i)), d, y + i);
    } else if constexpr (kArity == 2) {
      hn::StoreU(f(load(0, i), load(1, i)), d, y + i);
    } else {
      hn::StoreU(f(load(0, i), load(1, i), load(2, i)), d, y + i);
    }
  }
  if (i == tile.size) return;
  const auto rest = hn::FirstN(d, static_cast<std::size_t>(tile.size - i));
  const auto load_rest = [&](int n) {
    return hn::MaskedLoad(rest, d, operand<T>(tile, n) + i);
  };
  if constexpr (kArity == 1) {
    hn::BlendedStore(f(load_rest(0)), rest, d, y + i);
  } else if constexpr (kArity == 2) {
    hn::BlendedStore(f(load_rest(0), load_rest(1)), rest, d, y + i);
  } else {
    hn::BlendedStore(f(load_rest(0), load_rest(1), load_rest(2)), rest, d,
                     y + i);
  }
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_LOOP_MAP_TILE_H_
