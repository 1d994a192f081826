// Functions of vectors with IEEE's special values. Those of Highway 1.0 say
// nothing about them: its exp of NaN is 0, and its log of NaN is 89.
//
// Errors are within 2 units in the last place of f32, those of expm1 within 4
// (tests/ops/).
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

// Infinity from 88.73 on, 0 below -104.
inline Vector exp(Vector x) {
  // Highway's wraps around above 104, where the result is infinite already.
  const Vector y = hn::Exp(Floats(), hn::Min(broadcast(104.f), x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// -infinity for both zeros, NaN below them.
inline Vector log(Vector x) {
  const Vector zero = broadcast(0.f);
  const Vector y = hn::Log(Floats(), x);
  // Infinity and NaN, which alone are not below it, are their own logarithms.
  const Vector ended = hn::IfThenElse(hn::Lt(x, broadcast(HUGE_VALF)), y, x);
  const Vector begun =
      hn::IfThenElse(hn::Eq(x, zero), broadcast(-HUGE_VALF), ended);
  return hn::IfThenElse(hn::Lt(x, zero), broadcast(NAN), begun);
}

// -1 below -17.3; the result has the sign of x, as zeros have.
inline Vector expm1(Vector x) {
  const Vector y = hn::Expm1(Floats(), hn::Min(broadcast(104.f), x));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

// -infinity at -1, NaN below.
inline Vector log1p(Vector x) {
  const Vector least = broadcast(-1.f);
  const Vector y = hn::Log1p(Floats(), x);
  const Vector ended = hn::IfThenElse(hn::Lt(x, broadcast(HUGE_VALF)), y, x);
  const Vector begun =
      hn::IfThenElse(hn::Eq(x, least), broadcast(-HUGE_VALF), ended);
  return hn::IfThenElse(hn::Lt(x, least), broadcast(NAN), begun);
}

// Highway's keeps NaN and the sign of zero.
inline Vector tanh(Vector x) { return hn::Tanh(Floats(), x); }

// exp(-x) may be infinite; its reciprocal is then 0.
inline Vector sigmoid(Vector x) {
  const Vector one = broadcast(1.f);
  return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_FUNCTIONS_H_
