// The inverses of the hyperbolic functions, by logarithms that keep the digits
// near zero; NaN, infinities and signed zeros as in C's library.
//
// The inverse hyperbolic tangent of f32 is libmvec's (vector_libm.h). Errors
// are below 1 unit in the last place of f32, 2 of that, and 4 of f64
// (tests/kernels/trigonometry_test.cpp, tests/python/numerics_test.py).
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_HYPERBOLIC_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_HYPERBOLIC_H_
#undef WEFT_KERNELS_SIMD_HYPERBOLIC_H_
#else
#define WEFT_KERNELS_SIMD_HYPERBOLIC_H_
#endif

#include <cmath>
#include <numbers>

#include "weft/kernels/simd/doubles.h"
#include "weft/kernels/simd/functions.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// From here on x² ± 1 is x² in double, and log(2 x) what both inverses are.
inline auto is_huge(DoubleVector x) {
  return hn::Ge(x, broadcast_double(0x1p28));
}
inline DoubleVector log_of_double(DoubleVector x) {
  return hn::Add(log(x), broadcast_double(std::numbers::ln2));
}

// log(a + √(a² + 1)) as log1p(a + a² / (1 + √(a² + 1))).
inline DoubleVector asinh(DoubleVector x) {
  const auto one = broadcast_double(1);
  const auto a = hn::Abs(x);
  const auto square = hn::Mul(a, a);
  const auto root = hn::Sqrt(hn::Add(square, one));
  const auto near = log1p(hn::Add(a, hn::Div(square, hn::Add(one, root))));
  const auto y = hn::IfThenElse(is_huge(a), log_of_double(a), near);
  return hn::CopySign(y, x);
}

// log(x + √(x² - 1)) as log1p(t + √(t² + 2 t)) of t = x - 1.
inline DoubleVector acosh(DoubleVector x) {
  const auto one = broadcast_double(1);
  const auto t = hn::Sub(x, one);
  const auto root = hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t)));
  const auto near = log1p(hn::Add(t, root));
  const auto y = hn::IfThenElse(is_huge(x), log_of_double(x), near);
  return hn::IfThenElse(hn::Lt(x, one), broadcast_double(NAN), y);
}

// log((1 + a) / (1 - a)) / 2 as log1p(2 a / (1 - a)) / 2.
inline DoubleVector atanh(DoubleVector x) {
  const auto a = hn::Abs(x);
  const auto ratio = hn::Div(hn::Add(a, a), hn::Sub(broadcast_double(1), a));
  const auto y = hn::Mul(broadcast_double(0.5), log1p(ratio));
  return hn::CopySign(y, x);
}

inline Vector asinh(Vector x) {
  return in_doubles([](DoubleVector a) { return asinh(a); }, x);
}
inline Vector acosh(Vector x) {
  return in_doubles([](DoubleVector a) { return acosh(a); }, x);
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_HYPERBOLIC_H_
