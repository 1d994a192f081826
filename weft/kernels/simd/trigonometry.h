// Sine and its kin, of every f32: NaN and infinities, signed zeros and
// subnormal numbers as in C's library.
//
// Errors of sin, cos and tan are below 1 unit in the last place of f32, those
// of the others within 4 (tests/kernels/trigonometry_test.cpp).
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_TRIGONOMETRY_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_TRIGONOMETRY_H_
#undef WEFT_KERNELS_SIMD_TRIGONOMETRY_H_
#else
#define WEFT_KERNELS_SIMD_TRIGONOMETRY_H_
#endif

#include <cmath>
#include <hwy/contrib/math/math-inl.h>
#include <numbers>

#include "weft/kernels/simd/doubles.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// An angle as quarter turns and a rest of at most an eighth of a turn.
struct Turned {
  hn::Vec<hn::ScalableTag<std::int64_t>> quarters;  // the lowest bits count
  DoubleVector rest;
};

// Cody and Waite's reduction by π/2 in two parts of f64. No f32 comes nearer to
// a multiple of π/2 than 1.6e-9, and below kFarthest the rest is off by 1e-17
// at most, so that it has more digits than f32 where it is smallest.
inline constexpr float kFarthest = 0x1p45f;

inline Turned turned(DoubleVector x) {
  // Numbers from 2^52 on have no fraction: the sum is rounded to an integer,
  // which is what its lowest bits are then.
  const auto shift = broadcast_double(0x1.8p52);
  const auto shifted =
      hn::MulAdd(x, broadcast_double(2 * std::numbers::inv_pi), shift);
  const auto count = hn::Sub(shifted, shift);
  const auto near =
      hn::NegMulAdd(count, broadcast_double(0x1.921fb54442d18p0), x);
  return {hn::BitCast(hn::ScalableTag<std::int64_t>(), shifted),
          hn::NegMulAdd(count, broadcast_double(0x1.1a62633145c07p-54), near)};
}

// Minimax polynomials on [-π/4, π/4], to 2^-37 and 2^-33: those of FreeBSD's
// k_sinf.c and k_cosf.c. The sine is a product with x, which keeps -0.
inline DoubleVector sine_of_rest(DoubleVector x) {
  const auto x2 = hn::Mul(x, x);
  auto p = broadcast_double(0x1.6cd878c3b46a7p-19);
  for (const double c : {-0x1.a00f9e2cae774p-13, 0x1.11110896efbb2p-7,
                         -0x1.5555554cbac77p-3, 1.0}) {
    p = hn::MulAdd(p, x2, broadcast_double(c));
  }
  return hn::Mul(x, p);
}
inline DoubleVector cosine_of_rest(DoubleVector x) {
  const auto x2 = hn::Mul(x, x);
  auto p = broadcast_double(0x1.99342e0ee5069p-16);
  for (const double c : {-0x1.6c087e80f1e27p-10, 0x1.55553e1053a42p-5,
                         -0x1.ffffffd0c5e81p-2, 1.0}) {
    p = hn::MulAdd(p, x2, broadcast_double(c));
  }
  return p;
}

template <class Words>
auto is_odd(Words quarters) {
  const hn::ScalableTag<std::int64_t> words;
  return hn::RebindMask(Doubles(), hn::TestBit(quarters, hn::Set(words, 1)));
}

// The sine of x and kQuarters quarter turns more.
template <int kQuarters>
DoubleVector sine_after(DoubleVector x) {
  const hn::ScalableTag<std::int64_t> words;
  const Turned angle = turned(x);
  const auto quarters = hn::Add(angle.quarters, hn::Set(words, kQuarters));
  const auto y = hn::IfThenElse(is_odd(quarters), cosine_of_rest(angle.rest),
                                sine_of_rest(angle.rest));
  // Half a turn changes the sign.
  const auto half = hn::BitCast(Doubles(), hn::ShiftLeft<62>(quarters));
  return hn::Xor(y, hn::And(half, hn::SignBit(Doubles())));
}

inline DoubleVector tangent(DoubleVector x) {
  const Turned angle = turned(x);
  const auto sine = sine_of_rest(angle.rest);
  const auto cosine = cosine_of_rest(angle.rest);
  const auto odd = is_odd(angle.quarters);
  return hn::Div(hn::IfThenElse(odd, hn::Neg(cosine), sine),
                 hn::IfThenElse(odd, sine, cosine));
}

// Below it f32 are enough: π/2 in three of them leaves the rest off by 1e-18.
inline constexpr float kNear = 8192;

struct NearTurned {
  hn::Vec<hn::RebindToSigned<Floats>> quarters;  // the lowest bits count
  Vector rest, beyond;                           // the angle is the sum of both
};

// Here 0 <= x < kNear. The first product leaves no rounding, as its sum has no
// more digits than f32. Those of the second one and of its sum are in `beyond`.
inline NearTurned near_turned(Vector x) {
  const auto shift = broadcast(0x1.8p23f);
  const auto shifted =
      hn::MulAdd(x, broadcast(2 * std::numbers::inv_pi_v<float>), shift);
  const auto count = hn::Sub(shifted, shift);
  const auto first = hn::NegMulAdd(count, broadcast(0x1.921fb6p0f), x);
  const auto second = broadcast(-0x1.777a5cp-25f);
  const auto product = hn::Mul(count, second);
  const auto rest = hn::Sub(first, product);
  const auto lost = hn::Sub(hn::Sub(hn::Sub(first, rest), product),
                            hn::MulSub(count, second, product));
  return {hn::BitCast(hn::RebindToSigned<Floats>(), shifted), rest,
          hn::NegMulAdd(count, broadcast(-0x1.ee59dap-50f), lost)};
}

// Minimax polynomials on [-π/4, π/4], to 2^-28 and 2^-33 (Remez).
inline Vector near_sine(Vector rest, Vector beyond) {
  const auto x2 = hn::Mul(rest, rest);
  auto p = broadcast(-0x1.994cf9p-13f);
  for (const float c : {0x1.11075cp-7f, -0x1.555546p-3f}) {
    p = hn::MulAdd(p, x2, broadcast(c));
  }
  return hn::Add(rest, hn::MulAdd(hn::Mul(rest, x2), p, beyond));
}
// 1 - x²/2 is rounded, and what it lost is added to what follows.
inline Vector near_cosine(Vector rest, Vector beyond) {
  const auto one = broadcast(1), half = broadcast(0.5f);
  const auto x2 = hn::Mul(rest, rest);
  auto p = broadcast(0x1.99ea04p-16f);
  for (const float c : {-0x1.6c0c2ep-10f, 0x1.55554ap-5f}) {
    p = hn::MulAdd(p, x2, broadcast(c));
  }
  const auto first = hn::NegMulAdd(half, x2, one);
  const auto lost = hn::NegMulAdd(half, x2, hn::Sub(one, first));
  const auto others = hn::NegMulAdd(rest, beyond, lost);
  return hn::Add(first, hn::MulAdd(hn::Mul(x2, x2), p, others));
}

// The tangent of |x| with the sign of x, which keeps -0. A quarter turn on it
// is -1 / tan, whose digits depend on what the last sum of tan loses.
inline Vector near_tangent(Vector x) {
  const hn::RebindToSigned<Floats> words;
  const auto one = broadcast(1);
  const NearTurned angle = near_turned(hn::Abs(x));
  // Both are rounded, and what they lost is in `low`.
  const auto x2 = hn::Mul(angle.rest, angle.rest);
  const auto x3 = hn::Mul(angle.rest, x2);
  const auto low =
      hn::MulAdd(angle.rest, hn::MulSub(angle.rest, angle.rest, x2),
                 hn::MulSub(angle.rest, x2, x3));
  // A minimax polynomial of (tan x - x) / x³ on [-π/4, π/4], to 2^-29 of the
  // tangent (Remez).
  auto p = broadcast(0x1.1e91a8p-8f);
  for (const float c : {0x1.9c13acp-14f, 0x1.62cb2ep-7f, 0x1.5cc0d4p-6f,
                        0x1.bad9c2p-5f, 0x1.110d9ep-3f, 0x1.555560p-2f}) {
    p = hn::MulAdd(p, x2, broadcast(c));
  }
  // The derivative of the tangent is 1 + its square.
  const auto rough = hn::MulAdd(x3, p, angle.rest);
  const auto beyond = hn::Mul(angle.beyond, hn::MulAdd(rough, rough, one));
  const auto others = hn::MulAdd(x3, p, hn::MulAdd(low, p, beyond));
  const auto tangent = hn::Add(angle.rest, others);
  const auto lost = hn::Sub(others, hn::Sub(tangent, angle.rest));
  // One step of Newton's.
  const auto quotient = hn::Div(one, tangent);
  const auto off =
      hn::NegMulAdd(quotient, lost, hn::NegMulAdd(quotient, tangent, one));
  const auto inverse = hn::MulAdd(quotient, off, quotient);
  const auto is_odd =
      hn::RebindMask(Floats(), hn::TestBit(angle.quarters, hn::Set(words, 1)));
  const auto sign = hn::And(x, hn::SignBit(Floats()));
  return hn::Xor(hn::IfThenElse(is_odd, hn::Neg(inverse), tangent), sign);
}

// The sine of |x| and kQuarters quarter turns more; the sine of x has the sign
// of x besides, which keeps -0.
template <int kQuarters>
Vector near_sine_after(Vector x) {
  const hn::RebindToSigned<Floats> words;
  const NearTurned angle = near_turned(hn::Abs(x));
  const auto quarters = hn::Add(angle.quarters, hn::Set(words, kQuarters));
  const auto is_odd =
      hn::RebindMask(Floats(), hn::TestBit(quarters, hn::Set(words, 1)));
  const auto y = hn::IfThenElse(is_odd, near_cosine(angle.rest, angle.beyond),
                                near_sine(angle.rest, angle.beyond));
  auto sign = hn::BitCast(Floats(), hn::ShiftLeft<30>(quarters));
  if constexpr (kQuarters == 0) sign = hn::Xor(sign, x);
  return hn::Xor(y, hn::And(sign, hn::SignBit(Floats())));
}

inline auto is_far(Vector x) {
  return hn::Ge(hn::Abs(x), broadcast(kFarthest));
}
inline bool are_near(Vector x) {
  return hn::AllFalse(Floats(), hn::Ge(hn::Abs(x), broadcast(kNear)));
}

inline Vector sin(Vector x) {
  if (HWY_LIKELY(are_near(x))) return near_sine_after<0>(x);
  const auto y = in_doubles([](DoubleVector a) { return sine_after<0>(a); }, x);
  return replace_where(
      is_far(x), y, [](double a) { return std::sin(a); }, x);
}
inline Vector cos(Vector x) {
  if (HWY_LIKELY(are_near(x))) return near_sine_after<1>(x);
  const auto y = in_doubles([](DoubleVector a) { return sine_after<1>(a); }, x);
  return replace_where(
      is_far(x), y, [](double a) { return std::cos(a); }, x);
}
inline Vector tan(Vector x) {
  if (HWY_LIKELY(are_near(x))) return near_tangent(x);
  const auto y = in_doubles([](DoubleVector a) { return tangent(a); }, x);
  return replace_where(
      is_far(x), y, [](double a) { return std::tan(a); }, x);
}

template <class V>
V asin(V x) {
  return hn::Asin(hn::DFromV<V>(), x);
}
template <class V>
V acos(V x) {
  return hn::Acos(hn::DFromV<V>(), x);
}
template <class V>
V atan(V x) {
  return hn::Atan(hn::DFromV<V>(), x);
}

// The angle of (|x|, |y|) is at most an eighth of a turn from an axis; the
// signs say in which quadrant the point is.
inline Vector atan2(Vector y, Vector x) {
  const auto height = hn::Abs(y);
  const auto width = hn::Abs(x);
  const auto is_steep = hn::Gt(height, width);
  const auto ratio = hn::Div(hn::IfThenElse(is_steep, width, height),
                             hn::IfThenElse(is_steep, height, width));
  // Two infinities are alike, and so is nothing and nothing: its angle is 0.
  const auto one_or_zero =
      hn::IfThenElseZero(hn::Gt(height, broadcast(0.f)), broadcast(1.f));
  const auto slope = hn::IfThenElse(hn::Eq(height, width), one_or_zero, ratio);
  const auto near = atan(slope);
  const auto half_pi = broadcast(std::numbers::pi_v<float> / 2);
  const auto first = hn::IfThenElse(is_steep, hn::Sub(half_pi, near), near);
  const auto pi = broadcast(std::numbers::pi_v<float>);
  const auto angle = hn::IfNegativeThenElse(x, hn::Sub(pi, first), first);
  return hn::CopySign(angle, y);
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_TRIGONOMETRY_H_
