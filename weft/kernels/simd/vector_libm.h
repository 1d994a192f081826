// Functions of vectors of f64, and some of f32, by glibc's libmvec, which has
// had all of these since 2.35. Its errors are below 4 units in the last place
// of f64, and below 1 (pow) and 2 (atanh) of f32, and it takes special values
// one by one to the C library's functions. Elsewhere the C library's functions
// take every element.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_VECTOR_LIBM_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_VECTOR_LIBM_H_
#undef WEFT_KERNELS_SIMD_VECTOR_LIBM_H_
#else
#define WEFT_KERNELS_SIMD_VECTOR_LIBM_H_
#endif

#include <cmath>

#include "weft/kernels/simd/doubles.h"

// The names are those of the vector ABI: e and N8 stand for AVX-512 and eight
// lanes, d and N4 for AVX2 and four, one v for each operand. Twice as many
// lanes are of f32.
#undef WEFT_VECTOR_LIBM
#undef WEFT_VECTOR_LIBM_F32
#if defined(__GLIBC__) && defined(__x86_64__) && \
    (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
#if __GLIBC_PREREQ(2, 35)
#if HWY_TARGET == HWY_AVX3
#define WEFT_VECTOR_LIBM(operands, name) _ZGVeN8##operands##_##name
#define WEFT_VECTOR_LIBM_F32(operands, name) _ZGVeN16##operands##_##name##f
#else
#define WEFT_VECTOR_LIBM(operands, name) _ZGVdN4##operands##_##name
#define WEFT_VECTOR_LIBM_F32(operands, name) _ZGVdN8##operands##_##name##f
#endif
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

#ifdef WEFT_VECTOR_LIBM

using RawDoubles = decltype(DoubleVector::raw);
using RawFloats = decltype(Vector::raw);
extern "C" {
RawDoubles WEFT_VECTOR_LIBM(v, sin)(RawDoubles) noexcept;
RawDoubles WEFT_VECTOR_LIBM(v, cos)(RawDoubles) noexcept;
RawDoubles WEFT_VECTOR_LIBM(v, tan)(RawDoubles) noexcept;
RawDoubles WEFT_VECTOR_LIBM(v, erf)(RawDoubles) noexcept;
RawDoubles WEFT_VECTOR_LIBM(v, erfc)(RawDoubles) noexcept;
RawDoubles WEFT_VECTOR_LIBM(vv, pow)(RawDoubles, RawDoubles) noexcept;
RawDoubles WEFT_VECTOR_LIBM(vv, atan2)(RawDoubles, RawDoubles) noexcept;
RawFloats WEFT_VECTOR_LIBM_F32(v, atanh)(RawFloats) noexcept;
RawFloats WEFT_VECTOR_LIBM_F32(vv, pow)(RawFloats, RawFloats) noexcept;
}

inline DoubleVector sin(DoubleVector x) {
  return {WEFT_VECTOR_LIBM(v, sin)(x.raw)};
}
inline DoubleVector cos(DoubleVector x) {
  return {WEFT_VECTOR_LIBM(v, cos)(x.raw)};
}
inline DoubleVector tan(DoubleVector x) {
  return {WEFT_VECTOR_LIBM(v, tan)(x.raw)};
}
inline DoubleVector erf(DoubleVector x) {
  return {WEFT_VECTOR_LIBM(v, erf)(x.raw)};
}
inline DoubleVector erfc(DoubleVector x) {
  return {WEFT_VECTOR_LIBM(v, erfc)(x.raw)};
}
inline DoubleVector pow(DoubleVector a, DoubleVector b) {
  return {WEFT_VECTOR_LIBM(vv, pow)(a.raw, b.raw)};
}
inline DoubleVector atan2(DoubleVector y, DoubleVector x) {
  return {WEFT_VECTOR_LIBM(vv, atan2)(y.raw, x.raw)};
}
inline Vector atanh(Vector x) {
  return {WEFT_VECTOR_LIBM_F32(v, atanh)(x.raw)};
}
inline Vector pow(Vector a, Vector b) {
  return {WEFT_VECTOR_LIBM_F32(vv, pow)(a.raw, b.raw)};
}

#else

// Every element is a hard one.
inline auto every() { return hn::FirstN(Doubles(), hn::Lanes(Doubles())); }
inline DoubleVector sin(DoubleVector x) {
  return replace_where(
      every(), x, [](double a) { return std::sin(a); }, x);
}
inline DoubleVector cos(DoubleVector x) {
  return replace_where(
      every(), x, [](double a) { return std::cos(a); }, x);
}
inline DoubleVector tan(DoubleVector x) {
  return replace_where(
      every(), x, [](double a) { return std::tan(a); }, x);
}
inline DoubleVector erf(DoubleVector x) {
  return replace_where(
      every(), x, [](double a) { return std::erf(a); }, x);
}
inline DoubleVector erfc(DoubleVector x) {
  return replace_where(
      every(), x, [](double a) { return std::erfc(a); }, x);
}
inline DoubleVector pow(DoubleVector a, DoubleVector b) {
  return replace_where(
      every(), a, [](double p, double q) { return std::pow(p, q); }, a, b);
}
inline DoubleVector atan2(DoubleVector y, DoubleVector x) {
  return replace_where(
      every(), y, [](double p, double q) { return std::atan2(p, q); }, y, x);
}
// Every element of f32.
inline auto every_float() { return hn::FirstN(Floats(), hn::Lanes(Floats())); }
inline Vector atanh(Vector x) {
  return replace_where(
      every_float(), x, [](double a) { return std::atanh(a); }, x);
}
inline Vector pow(Vector a, Vector b) {
  return replace_where(
      every_float(), a, [](double p, double q) { return std::pow(p, q); }, a,
      b);
}

#endif

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_VECTOR_LIBM_H_
