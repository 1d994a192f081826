// Functions of vectors of f32 or f64 with IEEE's special values. Those of
// Highway 1.0 say nothing about them: its exp of NaN is 0, and its log of NaN
// is 89.
//
// Errors are within 2 units in the last place of f32, those of tanh within 3,
// those of expm1 and of f64 within 4, of exp of f64 within 1 (tests/ops/,
// tests/kernels/wide_functions_test.cpp).
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_FUNCTIONS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_FUNCTIONS_H_
#undef WEFT_KERNELS_SIMD_FUNCTIONS_H_
#else
#define WEFT_KERNELS_SIMD_FUNCTIONS_H_
#endif

#include <cmath>
#include <hwy/contrib/math/math-inl.h>
#include <limits>

#include "weft/kernels/simd/doubles.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// A number in every lane.
template <class V>
V filled(double number) {
  return hn::Set(hn::DFromV<V>(), static_cast<hn::TFromV<V>>(number));
}

// Highway's expm1 wraps around above this, where the result is infinite
// already.
template <class V>
V below_wrapping(V x) {
  return hn::Min(filled<V>(sizeof(hn::TFromV<V>) == sizeof(float) ? 104 : 720),
                 x);
}

// x = n log(2) + r with the nearest n, so that |r| is at most log(2) / 2.
// Adding `kExponentRounder` to a number leaves its nearest integer, and the
// bias of exponents, in the lowest bits: n = rounded - kExponentRounder.
inline constexpr float kExponentRounder = 0x1.8p23f + 127.f;
struct ReducedExponent {
  Vector rounded;
  Vector n;
  Vector r;
};
inline ReducedExponent reduce_exponent(Vector x) {
  const Vector rounder = broadcast(kExponentRounder);
  const Vector rounded = hn::MulAdd(x, broadcast(0x1.715476p0f), rounder);
  const Vector n = hn::Sub(rounded, rounder);
  // log(2) in two parts, of which n times the first is exact.
  const Vector r = hn::NegMulAdd(n, broadcast(0.693359375f), x);
  return {rounded, n, hn::NegMulAdd(n, broadcast(-2.12194440e-4f), r)};
}

// (e^r - 1 - r) / r², for |r| up to log(2) / 2: the polynomial of its degree
// that keeps the largest relative error of e^r least (Remez, 1934), 2^-28.
inline Vector exp_tail(Vector r) {
  Vector y = broadcast(0x1.6a2434p-10f);
  for (const float factor :
       {0x1.1239e2p-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f}) {
    y = hn::MulAdd(y, r, broadcast(factor));
  }
  return y;
}

// e^r of the same.
inline Vector exp_of_rest(Vector r) {
  const Vector one = broadcast(1.f);
  return hn::MulAdd(hn::MulAdd(exp_tail(r), r, one), r, one);
}

// 2^n for n from -126 to 127, in the exponent.
inline Vector power_of_two(const ReducedExponent& x) {
  const hn::RebindToUnsigned<Floats> words;
  return hn::BitCast(Floats(),
                     hn::ShiftLeft<23>(hn::BitCast(words, x.rounded)));
}

// y 2^n, rounded once where that is subnormal or too large. For |n| to 252.
inline Vector times_power_of_two(Vector y, Vector n) {
#if HWY_TARGET == HWY_AVX3
  // The form without a mask makes GCC 12 warn of its own header.
  return Vector{_mm512_maskz_scalef_ps(0xffff, y.raw, n.raw)};
#else
  // In two steps, as 2^n itself may not be a number.
  const hn::RebindToSigned<Floats> words;
  const auto whole = hn::ConvertTo(words, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto power = [&](auto k) {
    return hn::BitCast(Floats(),
                       hn::ShiftLeft<23>(hn::Add(k, hn::Set(words, 127))));
  };
  return hn::Mul(hn::Mul(y, power(half)), power(hn::Sub(whole, half)));
#endif
}

// It costs half of what Highway's does, in f32. Results are 0 and infinite
// before the limits are reached; NaN passes Min and Max as their second
// operand.
inline Vector exp(Vector x) {
#if HWY_TARGET != HWY_AVX3
  // Where no result is subnormal or too large, half of the steps do.
  if (hn::AllTrue(Floats(), hn::Le(hn::Abs(x), broadcast(87.f)))) {
    const ReducedExponent reduced = reduce_exponent(x);
    return hn::Mul(exp_of_rest(reduced.r), power_of_two(reduced));
  }
#endif
  const Vector bounded =
      hn::Max(broadcast(-104.f), hn::Min(broadcast(89.f), x));
  const ReducedExponent reduced = reduce_exponent(bounded);
  return times_power_of_two(exp_of_rest(reduced.r), reduced.n);
}

// In f64, by the polynomial of its degree that keeps the largest relative error
// least (Remez), 2^-57. The lowest bits of n + rounder are n and the bias of
// exponents, so that a shift makes 2^n of it.
inline DoubleVector exp(DoubleVector x) {
  const auto rounder = broadcast_double(0x1.8p52 + 1023);
  const auto bounded =
      hn::Max(broadcast_double(-746.0), hn::Min(broadcast_double(710.0), x));
  const auto n = hn::Sub(
      hn::MulAdd(bounded, broadcast_double(0x1.71547652b82fep0), rounder),
      rounder);
  const auto first =
      hn::NegMulAdd(n, broadcast_double(0x1.62e42fee00000p-1), bounded);
  const auto r =
      hn::NegMulAdd(n, broadcast_double(0x1.a39ef35793c76p-33), first);
  auto y = broadcast_double(0x1.aa3c7b3719e7dp-26);
  for (const double factor :
       {0x1.28a70a2061405p-22, 0x1.71e08bcc58952p-19, 0x1.a019a145280f4p-16,
        0x1.a01a00eb1d825p-13, 0x1.6c16c18193df9p-10, 0x1.111111111b663p-7,
        0x1.5555555551173p-5, 0x1.55555555555b3p-3, 0x1.000000000000ap-1, 1.0,
        1.0}) {
    y = hn::MulAdd(y, r, broadcast_double(factor));
  }
#if HWY_TARGET == HWY_AVX3
  return DoubleVector{_mm512_maskz_scalef_pd(0xff, y.raw, n.raw)};
#else
  // In two steps, as 2^n itself may not be a number.
  const hn::ScalableTag<std::uint64_t> words;
  const auto power = [&](DoubleVector k) {
    return hn::BitCast(
        Doubles(), hn::ShiftLeft<52>(hn::BitCast(words, hn::Add(k, rounder))));
  };
  const auto half =
      hn::Sub(hn::MulAdd(n, broadcast_double(0.5), rounder), rounder);
  return hn::Mul(hn::Mul(y, power(half)), power(hn::Sub(n, half)));
#endif
}

// exp where the largest has been subtracted: x is at most 0, or above it by no
// more than rounding. Results below the least normal number are 0, NaN stays
// NaN, and all else is within 2 units in the last place. Vectors of f32.
inline Vector exp_of_negative(Vector x) {
  const ReducedExponent reduced = reduce_exponent(x);
  const auto is_tiny = hn::Lt(x, broadcast(-87.33654f));
  return hn::IfThenZeroElse(
      is_tiny, hn::Mul(exp_of_rest(reduced.r), power_of_two(reduced)));
}

// 2^x for what is rounded to bf16 next, in fewer steps than exp_of_negative:
// within 2^-18 of its result, 0 below -126, at most 2^127; NaN stays NaN.
// The polynomial is the one of its degree with the least relative error on
// [-1/2, 1/2] (Remez, 1934).
inline Vector exp2_for_bf16(Vector x) {
  const Vector rounder = broadcast(kExponentRounder);
  const Vector bounded = hn::Min(broadcast(127.f), x);
  const Vector rounded = hn::Add(bounded, rounder);
  const Vector n = hn::Sub(rounded, rounder);
  const Vector r = hn::Sub(bounded, n);
  Vector y = broadcast(0x1.3997d6p-7f);
  for (const float factor :
       {0x1.ca1440p-5f, 0x1.ec06dap-3f, 0x1.62e0dcp-1f, 0x1.ffffe8p-1f}) {
    y = hn::MulAdd(y, r, broadcast(factor));
  }
  const auto is_tiny = hn::Lt(x, broadcast(-126.f));
  return hn::IfThenZeroElse(is_tiny, hn::Mul(y, power_of_two({rounded, n, r})));
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

// log(x) + extra log(2) for normal numbers: x = m 2^n with m in [√½, √2), and a
// polynomial of m - 1 (Moshier's Cephes, logf). It divides nothing, where
// Highway's does.
inline Vector log_of_normal(Vector x, Vector extra) {
  const hn::RebindToSigned<Floats> words;
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
  const auto bits = hn::BitCast(words, x);
  const auto exponent =
      hn::ShiftRight<23>(hn::Sub(bits, hn::Set(words, kRootOfHalf)));
  const Vector m =
      hn::BitCast(Floats(), hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const Vector n = hn::Add(hn::ConvertTo(Floats(), exponent), extra);
  const Vector f = hn::Sub(m, broadcast(1.f));
  Vector y = broadcast(7.0376836292e-2f);
  for (const float factor :
       {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
        1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f,
        -2.4999993993e-1f, 3.3333331174e-1f}) {
    y = hn::MulAdd(y, f, broadcast(factor));
  }
  const Vector f2 = hn::Mul(f, f);
  y = hn::Mul(hn::Mul(y, f), f2);
  // log(2) in two parts, of which n times the first is exact; small parts are
  // added first.
  y = hn::MulAdd(n, broadcast(-2.12194440e-4f), y);
  y = hn::NegMulAdd(broadcast(0.5f), f2, y);
  return hn::MulAdd(n, broadcast(0.693359375f), hn::Add(f, y));
}

inline Vector log(Vector x) {
  const Vector zero = broadcast(0.f);
  const Vector least = broadcast(std::numeric_limits<float>::min());
  const Vector infinity = broadcast(HUGE_VALF);
  const auto is_normal = hn::And(hn::Ge(x, least), hn::Lt(x, infinity));
  if (hn::AllTrue(Floats(), is_normal)) return log_of_normal(x, zero);
  const auto is_tiny = hn::Lt(x, least);
  const Vector y =
      log_of_normal(hn::IfThenElse(is_tiny, hn::Mul(x, broadcast(0x1p23f)), x),
                    hn::IfThenElseZero(is_tiny, broadcast(-23.f)));
  // Infinity and NaN, which alone are not below it, are their own logarithms.
  const Vector ended = hn::IfThenElse(hn::Lt(x, infinity), y, x);
  const Vector begun =
      hn::IfThenElse(hn::Eq(x, zero), broadcast(-HUGE_VALF), ended);
  return hn::IfThenElse(hn::Lt(x, zero), broadcast(NAN), begun);
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

// In f32, as e / (2 - e) of e = 1 - exp(-2 |x|), which keeps its digits near 0
// as 2^n alone is subtracted from its 1. Beyond 10 the result is 1.
inline Vector tanh(Vector x) {
  const Vector bounded = hn::Min(broadcast(10.f), hn::Abs(x));
  // -2 |x| = n log(2) + r, where log(2) in one part will do: what it lacks
  // counts n times, and e^r - 1 counts 2^n times, n being at most 0.
  const Vector rounder = broadcast(kExponentRounder);
  const Vector rounded =
      hn::MulAdd(bounded, broadcast(-0x1.715476p1f), rounder);
  const Vector n = hn::Sub(rounded, rounder);
  const Vector half = hn::MulAdd(n, broadcast(0x1.62e430p-2f), bounded);
  const Vector r = hn::Mul(broadcast(-2.f), half);
  const Vector rest = hn::MulAdd(hn::Mul(exp_tail(r), r), r, r);  // e^r - 1
  const Vector power = power_of_two({rounded, n, r});
  const Vector e = hn::NegMulAdd(rest, power, hn::Sub(broadcast(1.f), power));
  const Vector y = hn::Div(e, hn::Sub(broadcast(2.f), e));
  return hn::CopySignToAbs(y, x);
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
