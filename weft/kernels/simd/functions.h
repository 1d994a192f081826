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

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_FUNCTIONS_H_
