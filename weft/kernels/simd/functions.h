// Functions of vectors of f32 or f64 with IEEE's special values. Those of
// Highway 1.0 say nothing about them: its exp of NaN is 0, and its log of NaN
// is 89.
//
// Errors are within 2 units in the last place of f32, those of expm1 and of f64
// within 4 (tests/ops/).
//
// Compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_FUNCTIONS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_FUNCTIONS_H_
#undef WEFT_KERNELS_SIMD_FUNCTIONS_H_
#else
#define WEFT_KERNELS_SIMD_FUNCTIONS_H_
#endif

#include <cmath>
#include <hwy/contrib/math/math-inl.h>

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// A number in every lane.
template <class V>
V filled(double number) {
  return hn::Set(hn::DFromV<V>(), static_cast<hn::TFromV<V>>(number));
}

// Highway's exp wraps around above this, where the result is infinite already.
template <class V>
V below_wrapping(V x) {
  return hn::Min(filled<V>(sizeof(hn::TFromV<V>) == sizeof(float) ? 104 : 720),
                 x);
}

// Infinity and 0 where the result is too large and too small.
template <class V>
V exp(V x) {
  const V y = hn::Exp(hn::DFromV<V>(), below_wrapping(x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// exp where the largest has been subtracted: x is at most 0, or above it by no
// more than rounding. Results below the least normal number are 0, NaN stays
// NaN, and all else is within 2 units in the last place, at half the cost of
// exp: 2^n stands in the exponent, and a polynomial of the rest of x, of at
// most log(2) / 2 (Moshier's Cephes, expf). Vectors of f32.
inline Vector exp_of_negative(Vector x) {
  const hn::RebindToUnsigned<Floats> words;
  // Added to a number, this leaves its nearest integer, and the bias of
  // exponents, in the lowest bits.
  const Vector rounder = broadcast(0x1.8p23f + 127.f);
  const Vector biased = hn::MulAdd(x, broadcast(0x1.715476p0f), rounder);
  const Vector n = hn::Sub(biased, rounder);
  // log(2) in two parts, of which n times the first is exact.
  Vector r = hn::NegMulAdd(n, broadcast(0.693359375f), x);
  r = hn::NegMulAdd(n, broadcast(-2.12194440e-4f), r);
  Vector y = broadcast(1.9875691500e-4f);
  for (const float factor :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
        5.0000001201e-1f, 1.f, 1.f}) {
    y = hn::MulAdd(y, r, broadcast(factor));
  }
  const Vector power =
      hn::BitCast(Floats(), hn::ShiftLeft<23>(hn::BitCast(words, biased)));
  const auto is_tiny = hn::Lt(x, broadcast(-87.33654f));
  return hn::IfThenZeroElse(is_tiny, hn::Mul(y, power));
}

// -infinity for both zeros, NaN below them.
template <class V>
V log(V x) {
  const V zero = filled<V>(0);
  const V y = hn::Log(hn::DFromV<V>(), x);
  // Infinity and NaN, which alone are not below it, are their own logarithms.
  const V ended = hn::IfThenElse(hn::Lt(x, filled<V>(HUGE_VAL)), y, x);
  const V begun = hn::IfThenElse(hn::Eq(x, zero), filled<V>(-HUGE_VAL), ended);
  return hn::IfThenElse(hn::Lt(x, zero), filled<V>(NAN), begun);
}

// The result has the sign of x, as zeros have.
template <class V>
V expm1(V x) {
  const V y = hn::Expm1(hn::DFromV<V>(), below_wrapping(x));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

// -infinity at -1, NaN below.
template <class V>
V log1p(V x) {
  const V least = filled<V>(-1);
  const V y = hn::Log1p(hn::DFromV<V>(), x);
  const V ended = hn::IfThenElse(hn::Lt(x, filled<V>(HUGE_VAL)), y, x);
  const V begun = hn::IfThenElse(hn::Eq(x, least), filled<V>(-HUGE_VAL), ended);
  return hn::IfThenElse(hn::Lt(x, least), filled<V>(NAN), begun);
}

// Highway's keeps NaN and the sign of zero.
template <class V>
V tanh(V x) {
  return hn::Tanh(hn::DFromV<V>(), x);
}

// exp(-x) may be infinite; its reciprocal is then 0.
template <class V>
V sigmoid(V x) {
  const V one = filled<V>(1);
  return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

// erf of f32 as an odd rational minimax approximation on [-4, 4], beyond which
// it is 1 in f32. The quotient comes before the product with x, so that the
// smallest numbers do not underflow on their way. NaN passes Min and Max as
// their second operand.
inline Vector erf(Vector x) {
  const Floats d;
  const auto set = [&](float c) { return hn::Set(d, c); };
  x = hn::Max(set(-4.0f), hn::Min(set(4.0f), x));
  const auto x2 = hn::Mul(x, x);
  auto p = set(-2.72614225801306e-10f);
  for (const float c : {2.77068142495902e-08f, -2.10102402082508e-06f,
                        -5.69250639462346e-05f, -7.34990630326855e-04f,
                        -2.95459980854025e-03f, -1.60960333262415e-02f}) {
    p = hn::MulAdd(p, x2, set(c));
  }
  auto q = set(-1.45660718464996e-05f);
  for (const float c : {-2.13374055278905e-04f, -1.68282697438203e-03f,
                        -7.37332916720468e-03f, -1.42647390514189e-02f}) {
    q = hn::MulAdd(q, x2, set(c));
  }
  return hn::Mul(x, hn::Div(p, q));
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_FUNCTIONS_H_
