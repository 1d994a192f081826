// Division of f32 whose quotient is rounded down
// (ops/support/floor_division.h).
//
// Compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_FLOOR_DIVISION_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_FLOOR_DIVISION_H_
#undef WEFT_KERNELS_SIMD_FLOOR_DIVISION_H_
#else
#define WEFT_KERNELS_SIMD_FLOOR_DIVISION_H_
#endif

#include "weft/kernels/simd/doubles.h"
#include "weft/ops/support/floor_division.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

struct Divided {
  DoubleVector quotient;
  DoubleVector remainder;
};

// Both are exact in double while the quotient is: the remainder of two f32 has
// no more digits than these.
inline Divided divided(DoubleVector a, DoubleVector b) {
  const auto quotient = hn::Floor(hn::Div(a, b));
  const auto remainder = hn::NegMulAdd(quotient, b, a);
  // A ratio just below an integer was rounded up to it.
  const auto is_over = hn::Lt(hn::Mul(remainder, b), broadcast_double(0.0));
  const auto one = broadcast_double(1.0);
  return {hn::Sub(quotient, hn::IfThenElseZero(is_over, one)),
          hn::CopySign(hn::Add(remainder, hn::IfThenElseZero(is_over, b)), b)};
}

// Quotients of more digits than double has, infinities and zeros as divisors.
inline auto is_hard_to_divide(Vector a, Vector b) {
  const auto fits = hn::Lt(hn::Abs(hn::Div(a, b)), broadcast(0x1p50f));
  const auto is_finite = hn::Lt(hn::Abs(b), broadcast(HUGE_VALF));
  return hn::Not(hn::And(fits, is_finite));
}

inline Vector floor_divide(Vector a, Vector b) {
  const auto y = in_doubles(
      [](DoubleVector p, DoubleVector q) { return divided(p, q).quotient; }, a,
      b);
  return replace_where(
      is_hard_to_divide(a, b), y,
      [](double p, double q) { return floor_division(p, q).quotient; }, a, b);
}

inline Vector remainder(Vector a, Vector b) {
  const auto y = in_doubles(
      [](DoubleVector p, DoubleVector q) { return divided(p, q).remainder; }, a,
      b);
  return replace_where(
      is_hard_to_divide(a, b), y,
      [](double p, double q) { return floor_division(p, q).remainder; }, a, b);
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_FLOOR_DIVISION_H_
