// Sine and cosine in double, of angles that have been brought near to 0.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_QUARTER_TURN_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_QUARTER_TURN_H_
#undef WEFT_KERNELS_SIMD_QUARTER_TURN_H_
#else
#define WEFT_KERNELS_SIMD_QUARTER_TURN_H_
#endif

#include "weft/kernels/simd/doubles.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// Minimax polynomials on [-π/4, π/4], to 2^-58: those of FreeBSD's k_sin.c and
// k_cos.c.
inline DoubleVector quarter_sine(DoubleVector x) {
  const auto x2 = hn::Mul(x, x);
  auto p = broadcast_double(1.58969099521155010221e-10);
  for (const double c :
       {-2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03,
        -1.66666666666666324348e-01}) {
    p = hn::MulAdd(p, x2, broadcast_double(c));
  }
  return hn::MulAdd(hn::Mul(x, x2), p, x);
}
inline DoubleVector quarter_cosine(DoubleVector x) {
  const auto x2 = hn::Mul(x, x);
  auto p = broadcast_double(-1.13596475577881948265e-11);
  for (const double c :
       {2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03,
        4.16666666666666019037e-02, -0.5, 1.0}) {
    p = hn::MulAdd(p, x2, broadcast_double(c));
  }
  return p;
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_QUARTER_TURN_H_
