// Vectors of f32 whose functions are computed in double, and the few elements
// that vectors do not serve.
//
// Compiled once per target (kernels/simd/targets.h).
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
template <class Mask, class Function, class... Operands>
Vector replace_where(Mask is_hard, Vector y, Function&& function,
                     Operands... x) {
  if (HWY_LIKELY(hn::AllFalse(Floats(), is_hard))) return y;
  std::array<float, kLanes> hard;
  std::array<float, kLanes> results;
  std::array<std::array<float, kLanes>, sizeof...(x)> operands;
  store(hn::IfThenElseZero(is_hard, broadcast(1.f)), hard.data());
  store(y, results.data());
  std::size_t n = 0;
  (store(x, operands[n++].data()), ...);
  for (std::size_t i = 0; i < hn::Lanes(Floats()); ++i) {
    if (hard[i] == 0.f) continue;
    results[i] = std::apply(
        [&](const auto&... each) {
          return static_cast<float>(function(static_cast<double>(each[i])...));
        },
        operands);
  }
  return load(results.data());
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_DOUBLES_H_
