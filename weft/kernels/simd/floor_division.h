// Division of f32 and f64 whose quotient is rounded down
// (ops/support/floor_division.h).
//
// It is compiled once per target (kernels/simd/targets.h).
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

// The quotient is exact while it has no more digits than double, up to one that
// is too large: a ratio just below an integer is rounded up to it. The
// remainder is as fmod's, exact where a and b have one sign, since it is a
// multiple of the last digit of b and no larger than b; with two signs, b is
// added and rounded once. (NumPy's steps give the same.)
inline Divided divided(DoubleVector a, DoubleVector b) {
  const auto quotient = hn::Floor(hn::Div(a, b));
  const auto remainder = hn::NegMulAdd(quotient, b, a);
  // Signs are compared, as a product of tiny numbers is 0.
  const auto zero = broadcast_double(0.0);
  const auto is_over = hn::Lt(
      hn::IfThenElse(hn::Lt(b, zero), hn::Neg(remainder), remainder), zero);
  const auto one = broadcast_double(1.0);
  return {hn::Sub(quotient, hn::IfThenElseZero(is_over, one)),
          hn::CopySign(hn::Add(remainder, hn::IfThenElseZero(is_over, b)), b)};
}

// Quotients of more digits than double has, infinities and zeros as divisors.
template <class V>
auto is_hard_to_divide(V a, V b) {
  const hn::DFromV<V> d;
  const auto bound = [&](double most) {
    return hn::Set(d, static_cast<hn::TFromV<V>>(most));
  };
  const auto fits = hn::Lt(hn::Abs(hn::Div(a, b)), bound(0x1p50));
  const auto is_finite = hn::Lt(hn::Abs(b), bound(HUGE_VAL));
  return hn::Not(hn::And(fits, is_finite));
}

inline DoubleVector quotient_of(DoubleVector a, DoubleVector b) {
  return divided(a, b).quotient;
}
inline DoubleVector remainder_of(DoubleVector a, DoubleVector b) {
  return divided(a, b).remainder;
}
inline Vector quotient_of(Vector a, Vector b) {
  return in_doubles(
      [](DoubleVector p, DoubleVector q) { return divided(p, q).quotient; }, a,
      b);
}
inline Vector remainder_of(Vector a, Vector b) {
  return in_doubles(
      [](DoubleVector p, DoubleVector q) { return divided(p, q).remainder; }, a,
      b);
}

template <class V>
V floor_divide(V a, V b) {
  return replace_where(
      is_hard_to_divide(a, b), quotient_of(a, b),
      [](double p, double q) { return floor_division(p, q).quotient; }, a, b);
}
template <class V>
V remainder(V a, V b) {
  return replace_where(
      is_hard_to_divide(a, b), remainder_of(a, b),
      [](double p, double q) { return floor_division(p, q).remainder; }, a, b);
}

using WideVector = hn::Vec<hn::RebindToSigned<hn::ScalableTag<double>>>;

// Quotients of i64. Processors divide doubles some times as fast, and of
// numbers of at most 50 bits the quotient is exact in double, as above.
inline WideVector floor_divide_wide(WideVector a, WideVector b) {
  const hn::DFromV<WideVector> d;
  const hn::ScalableTag<double> doubles;
  const auto most = hn::Set(d, std::int64_t{1} << 50);
  const auto is_short = [&](WideVector x) {
    return hn::And(hn::Lt(x, most), hn::Gt(x, hn::Neg(most)));
  };
  const auto quick = hn::ConvertTo(
      d, quotient_of(hn::ConvertTo(doubles, a), hn::ConvertTo(doubles, b)));
  const auto is_easy =
      hn::AndNot(hn::Eq(b, hn::Zero(d)), hn::And(is_short(a), is_short(b)));
  if (HWY_LIKELY(hn::AllTrue(d, is_easy))) return quick;
  using Numbers = std::array<std::int64_t, hn::MaxLanes(d)>;
  Numbers p;
  Numbers q;
  hn::StoreU(a, d, p.data());
  hn::StoreU(b, d, q.data());
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    p[i] = floor_division(p[i], q[i]).quotient;
  return hn::LoadU(d, p.data());
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_FLOOR_DIVISION_H_
