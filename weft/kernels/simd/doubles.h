// Vectors of f32 whose functions are computed in double, and the few elements
// that vectors do not serve.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_DOUBLES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_DOUBLES_H_
#undef WEFT_KERNELS_SIMD_DOUBLES_H_
#else
#define WEFT_KERNELS_SIMD_DOUBLES_H_
#endif

#include <array>
#include <tuple>

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;

inline DoubleVector broadcast_double(double value) {
  return hn::Set(Doubles(), value);
}

// function(x…) of vectors of double, rounded once.
template <class Function, class... Operands>
Vector in_doubles(Function&& function, Operands... x) {
  const hn::Half<Floats> half;
  const auto low =
      function(hn::PromoteTo(Doubles(), hn::LowerHalf(half, x))...);
  const auto high =
      function(hn::PromoteTo(Doubles(), hn::UpperHalf(half, x))...);
  return hn::Combine(Floats(), hn::DemoteTo(half, high),
                     hn::DemoteTo(half, low));
}

// y, but function(x…) of single elements where `is_hard`.
template <class V, class Mask, class Function, class... Operands>
V replace_where(Mask is_hard, V y, Function&& function, Operands... x) {
  const hn::DFromV<V> d;
  if (HWY_LIKELY(hn::AllFalse(d, is_hard))) return y;
  using Numbers = std::array<hn::TFromV<V>, hn::MaxLanes(hn::DFromV<V>())>;
  Numbers hard;
  Numbers results;
  std::array<Numbers, sizeof...(x)> operands;
  hn::StoreU(hn::IfThenElseZero(is_hard, hn::Set(d, 1)), d, hard.data());
  hn::StoreU(y, d, results.data());
  std::size_t n = 0;
  (hn::StoreU(x, d, operands[n++].data()), ...);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (hard[i] == 0) continue;
    results[i] = std::apply(
        [&](const auto&... each) {
          return static_cast<hn::TFromV<V>>(
              function(static_cast<double>(each[i])...));
        },
        operands);
  }
  return hn::LoadU(d, results.data());
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_DOUBLES_H_
