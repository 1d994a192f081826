#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/fourier_stages.cpp"
#include "weft/kernels/simd/fourier_stages.h"

#include <hwy/foreach_target.h>

#include "weft/base/index.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

template <class D>
struct Complex {
  hn::Vec<D> re, im;

  Complex operator+(const Complex& other) const {
    return {hn::Add(re, other.re), hn::Add(im, other.im)};
  }
  Complex operator-(const Complex& other) const {
    return {hn::Sub(re, other.re), hn::Sub(im, other.im)};
  }
  // Times -i.
  Complex turned() const { return {im, hn::Neg(re)}; }
  Complex times(float w_re, float w_im) const {
    const auto c = hn::Set(D(), w_re);
    const auto s = hn::Set(D(), w_im);
    return {hn::NegMulAdd(im, s, hn::Mul(re, c)),
            hn::MulAdd(re, s, hn::Mul(im, c))};
  }
};

// One butterfly: what it reads, what it writes, and its factors. Numbers of one
// row of either are `x_step` and `y_step` apart.
struct Butterfly {
  ComplexRows x, y;
  std::int64_t x_step, y_step;
  const float *w_re, *w_im;

  template <class D>
  Complex<D> read(D d, std::int64_t q, std::int64_t j) const {
    return {hn::LoadU(d, x.re + q + j * x_step),
            hn::LoadU(d, x.im + q + j * x_step)};
  }
  // The factors of the first butterfly of a stage, and of the last stage's, are
  // 1.
  template <bool kTurns, class D>
  void write(D d, std::int64_t q, std::int64_t k, Complex<D> value) const {
    if (kTurns && k > 0) value = value.times(w_re[k], w_im[k]);
    hn::StoreU(value.re, d, y.re + q + k * y_step);
    hn::StoreU(value.im, d, y.im + q + k * y_step);
  }
};

template <bool kTurns, class D>
HWY_INLINE void radix_2(const Butterfly& of, D d, std::int64_t q) {
  const auto a = of.read(d, q, 0);
  const auto b = of.read(d, q, 1);
  of.write<kTurns>(d, q, 0, a + b);
  of.write<kTurns>(d, q, 1, a - b);
}

// Σ_j x_j exp(-2πi jk/4), in place.
template <class D>
HWY_INLINE void four(Complex<D>& a, Complex<D>& b, Complex<D>& c,
                     Complex<D>& d) {
  const Complex<D> even = a + c;
  const Complex<D> apart = a - c;
  const Complex<D> odd = b + d;
  const Complex<D> turned = (b - d).turned();
  a = even + odd;
  b = apart + turned;
  c = even - odd;
  d = apart - turned;
}

template <bool kTurns, class D>
HWY_INLINE void radix_4(const Butterfly& of, D d, std::int64_t q) {
  auto x0 = of.read(d, q, 0), x1 = of.read(d, q, 1);
  auto x2 = of.read(d, q, 2), x3 = of.read(d, q, 3);
  four(x0, x1, x2, x3);
  of.write<kTurns>(d, q, 0, x0);
  of.write<kTurns>(d, q, 1, x1);
  of.write<kTurns>(d, q, 2, x2);
  of.write<kTurns>(d, q, 3, x3);
}

// The sums of the even numbers, and of the odd ones, which exp(-πi k/4) turns.
template <bool kTurns, class D>
HWY_INLINE void radix_8(const Butterfly& of, D d, std::int64_t q) {
  constexpr float kHalf = 0.70710678f;  // √½
  auto e0 = of.read(d, q, 0), e1 = of.read(d, q, 2);
  auto e2 = of.read(d, q, 4), e3 = of.read(d, q, 6);
  four(e0, e1, e2, e3);
  auto o0 = of.read(d, q, 1), o1 = of.read(d, q, 3);
  auto o2 = of.read(d, q, 5), o3 = of.read(d, q, 7);
  four(o0, o1, o2, o3);
  const auto half = hn::Set(d, kHalf);
  o1 = {hn::Mul(half, hn::Add(o1.re, o1.im)),
        hn::Mul(half, hn::Sub(o1.im, o1.re))};
  o2 = o2.turned();
  o3 = {hn::Mul(half, hn::Sub(o3.im, o3.re)),
        hn::Mul(hn::Neg(half), hn::Add(o3.re, o3.im))};
  of.write<kTurns>(d, q, 0, e0 + o0);
  of.write<kTurns>(d, q, 1, e1 + o1);
  of.write<kTurns>(d, q, 2, e2 + o2);
  of.write<kTurns>(d, q, 3, e3 + o3);
  of.write<kTurns>(d, q, 4, e0 - o0);
  of.write<kTurns>(d, q, 5, e1 - o1);
  of.write<kTurns>(d, q, 6, e2 - o2);
  of.write<kTurns>(d, q, 7, e3 - o3);
}

// A butterfly of any radix.
template <class D>
HWY_INLINE void any_radix(const FourierStage& stage, const Butterfly& of, D d,
                          std::int64_t q) {
  for (std::int64_t k = 0; k < stage.radix; ++k) {
    Complex<D> sum = of.read(d, q, 0);
    for (std::int64_t j = 1; j < stage.radix; ++j) {
      const auto turn = at(j * k % stage.radix);
      sum = sum +
            of.read(d, q, j).times(stage.unit_re[turn], stage.unit_im[turn]);
    }
    of.write<true>(d, q, k, sum);
  }
}

// Calls body(d, q) for vectors of all `count` numbers from q on, of as many
// lanes as there are left.
template <class Body>
HWY_INLINE void in_vectors(std::int64_t count, Body&& body) {
  std::int64_t q = 0;
  const auto of = [&]<std::size_t kLanes>() {
    for (; q + std::int64_t{kLanes} <= count; q += kLanes) {
      body(hn::CappedTag<float, kLanes>(), q);
    }
  };
  if constexpr (simd::kLanes > 8) of.template operator()<simd::kLanes>();
  if constexpr (simd::kLanes >= 8) of.template operator()<8>();
  of.template operator()<4>();
  of.template operator()<1>();
}

template <bool kTurns>
void run_butterfly(const FourierStage& stage, std::int64_t stride,
                   const Butterfly& of) {
  switch (stage.radix) {
    case 2:
      return in_vectors(
          stride, [&](auto d, std::int64_t q) { radix_2<kTurns>(of, d, q); });
    case 4:
      return in_vectors(
          stride, [&](auto d, std::int64_t q) { radix_4<kTurns>(of, d, q); });
    case 8:
      return in_vectors(
          stride, [&](auto d, std::int64_t q) { radix_8<kTurns>(of, d, q); });
    default:
      return in_vectors(
          stride, [&](auto d, std::int64_t q) { any_radix(stage, of, d, q); });
  }
}

void run_stage(const FourierStage& stage, std::int64_t stride, ComplexRows x,
               ComplexRows y) {
  const std::int64_t radix = stage.radix;
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    const std::int64_t to = radix * p * stride;
    const Butterfly of{{x.re + p * stride, x.im + p * stride},
                       {y.re + to, y.im + to},
                       stage.parts * stride,
                       stride,
                       stage.re.data() + p * radix,
                       stage.im.data() + p * radix};
    if (p == 0)
      run_butterfly<false>(stage, stride, of);
    else
      run_butterfly<true>(stage, stride, of);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void run_fourier_stage(const FourierStage& stage, std::int64_t stride,
                       ComplexRows x, ComplexRows y) {
  WEFT_FOR_MACHINE(run_stage)(stage, stride, x, y);
}

}  // namespace weft
#endif
