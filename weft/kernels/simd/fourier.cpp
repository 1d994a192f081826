// The self-sorting algorithm of Stockham for mixed radices (Van Loan,
// "Computational frameworks for the fast Fourier transform", 1992, 1.7), and
// Bluestein's for sizes with a large prime factor.
#include "weft/kernels/simd/fourier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "weft/base/index.h"

namespace weft {
namespace {

// A butterfly of radix r takes r^2 products.
constexpr std::int64_t kMostRadix = 13;
// Numbers that a butterfly of any radix takes side by side.
constexpr std::int64_t kSpan = 16;

struct Turn {
  float re, im;
};

// exp(-2πi numerator / denominator).
Turn turn(std::int64_t numerator, std::int64_t denominator) {
  // The angle is computed in f64, since the error of a turn passes into every
  // output.
  const double angle = 2 * std::numbers::pi * static_cast<double>(numerator) /
                       static_cast<double>(denominator);
  return {static_cast<float>(std::cos(angle)),
          static_cast<float>(-std::sin(angle))};
}

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  // What is left of n in the end is 1 or its largest prime.
  for (std::int64_t factor = 2; factor * factor <= n; ++factor) {
    for (; n % factor == 0; n /= factor) largest = factor;
  }
  return std::max(largest, n);
}

// What is read and what is written lie apart, which the loops say by `simd`.
// y_k = w^k Σ_j x_j exp(-2πi jk/2), for `count` numbers.
void butterfly_2(std::int64_t count, ComplexRows x, std::int64_t x_step,
                 ComplexRows y, std::int64_t y_step, Turn w) {
#pragma omp simd
  for (std::int64_t q = 0; q < count; ++q) {
    const float a_re = x.re[q], a_im = x.im[q];
    const float b_re = x.re[q + x_step], b_im = x.im[q + x_step];
    y.re[q] = a_re + b_re;
    y.im[q] = a_im + b_im;
    const float re = a_re - b_re, im = a_im - b_im;
    y.re[q + y_step] = re * w.re - im * w.im;
    y.im[q + y_step] = re * w.im + im * w.re;
  }
}

void butterfly_4(std::int64_t count, ComplexRows x, std::int64_t x_step,
                 ComplexRows y, std::int64_t y_step, const float* w_re,
                 const float* w_im) {
  const Turn w1{w_re[1], w_im[1]};
  const Turn w2{w_re[2], w_im[2]};
  const Turn w3{w_re[3], w_im[3]};
#pragma omp simd
  for (std::int64_t q = 0; q < count; ++q) {
    const float* re = x.re + q;
    const float* im = x.im + q;
    const float even_re = re[0] + re[2 * x_step];
    const float even_im = im[0] + im[2 * x_step];
    const float apart_re = re[0] - re[2 * x_step];
    const float apart_im = im[0] - im[2 * x_step];
    const float odd_re = re[x_step] + re[3 * x_step];
    const float odd_im = im[x_step] + im[3 * x_step];
    // -i times the difference.
    const float turned_re = im[x_step] - im[3 * x_step];
    const float turned_im = re[3 * x_step] - re[x_step];
    y.re[q] = even_re + odd_re;
    y.im[q] = even_im + odd_im;
    const auto put = [&](std::int64_t k, float real, float imaginary, Turn w) {
      y.re[q + k * y_step] = real * w.re - imaginary * w.im;
      y.im[q + k * y_step] = real * w.im + imaginary * w.re;
    };
    put(1, apart_re + turned_re, apart_im + turned_im, w1);
    put(2, even_re - odd_re, even_im - odd_im, w2);
    put(3, apart_re - turned_re, apart_im - turned_im, w3);
  }
}

// One butterfly of any radix, whose own turns are unit[jk mod radix].
void butterfly(std::int64_t radix, const Turn* unit, std::int64_t count,
               ComplexRows x, std::int64_t x_step, ComplexRows y,
               std::int64_t y_step, const float* w_re, const float* w_im) {
  for (std::int64_t begin = 0; begin < count; begin += kSpan) {
    const std::int64_t size = std::min(kSpan, count - begin);
    for (std::int64_t k = 0; k < radix; ++k) {
      // The sums of so many numbers stay in registers.
      std::array<float, kSpan> re{}, im{};
      for (std::int64_t j = 0; j < radix; ++j) {
        const Turn u = unit[j * k % radix];
        const float* x_re = x.re + begin + j * x_step;
        const float* x_im = x.im + begin + j * x_step;
#pragma omp simd
        for (std::int64_t q = 0; q < size; ++q) {
          re[at(q)] += x_re[q] * u.re - x_im[q] * u.im;
          im[at(q)] += x_re[q] * u.im + x_im[q] * u.re;
        }
      }
      float* y_re = y.re + begin + k * y_step;
      float* y_im = y.im + begin + k * y_step;
#pragma omp simd
      for (std::int64_t q = 0; q < size; ++q) {
        y_re[q] = re[at(q)] * w_re[k] - im[at(q)] * w_im[k];
        y_im[q] = re[at(q)] * w_im[k] + im[at(q)] * w_re[k];
      }
    }
  }
}

}  // namespace

// Bluestein: with c_j = exp(-πi j²/n), the transform is c_k Σ_j (x_j c_j)
// conj(c_{k-j}), a convolution, which transforms of a power of two compute.
struct FourierTransform::ByConvolution {
  std::int64_t n;
  FourierTransform inner;
  std::vector<Turn> chirp;
  std::vector<float> filter_re, filter_im;  // the transform of conj(c) / size

  explicit ByConvolution(std::int64_t size) : n(size), inner(padded(size)) {
    const std::int64_t length = padded(n);
    filter_re.resize(at(length));
    filter_im.resize(at(length));
    // The factor of the inverse transform is put into the filter, where it
    // costs nothing.
    const float share = 1 / static_cast<float>(length);
    for (std::int64_t j = 0; j < n; ++j) {
      // j² is taken modulo the period of the turns, to keep its digits.
      chirp.push_back(turn(j * j % (2 * n), 2 * n));
      // c_{-j} = c_j, and negative places wrap around.
      for (const std::int64_t place : {j, (length - j) % length}) {
        filter_re[at(place)] = chirp.back().re * share;
        filter_im[at(place)] = -chirp.back().im * share;
      }
    }
    std::vector<float> re(at(length)), im(at(length));
    const ComplexRows made = inner.run({filter_re.data(), filter_im.data()},
                                       {re.data(), im.data()}, 1);
    if (made.re == re.data()) {
      filter_re.swap(re);
      filter_im.swap(im);
    }
  }

  static std::int64_t padded(std::int64_t n) {
    std::int64_t size = 1;
    // Places from -(n - 1) to n - 1 are apart then, so that what wraps around
    // does not meet what is read.
    while (size < 2 * n - 1) size *= 2;
    return size;
  }

  static void multiply(ComplexRows x, std::int64_t place, std::int64_t lanes,
                       Turn w) {
    for (std::int64_t q = place * lanes; q < (place + 1) * lanes; ++q) {
      const float re = x.re[q] * w.re - x.im[q] * w.im;
      x.im[q] = x.re[q] * w.im + x.im[q] * w.re;
      x.re[q] = re;
    }
  }

  ComplexRows run(ComplexRows x, ComplexRows other, std::int64_t lanes) const {
    const std::int64_t length = inner.n_;
    for (std::int64_t j = 0; j < n; ++j) multiply(x, j, lanes, chirp[at(j)]);
    // The convolution is of a row that goes on with zeros; the caller leaves
    // anything there.
    std::fill(x.re + n * lanes, x.re + length * lanes, 0.f);
    std::fill(x.im + n * lanes, x.im + length * lanes, 0.f);
    ComplexRows y = inner.run(x, other, lanes);
    for (std::int64_t j = 0; j < length; ++j) {
      multiply(y, j, lanes, {filter_re[at(j)], filter_im[at(j)]});
    }
    ComplexRows free = y.re == x.re ? other : x;
    // The inverse transform is the forward one with re and im in each other's
    // place.
    y = inner.run({y.im, y.re}, {free.im, free.re}, lanes);
    y = {y.im, y.re};
    for (std::int64_t k = 0; k < n; ++k) multiply(y, k, lanes, chirp[at(k)]);
    return y;
  }
};

FourierTransform::FourierTransform(std::int64_t n) : n_(n) {
  if (largest_prime_factor(n) > kMostRadix) {
    by_convolution_ = std::make_unique<ByConvolution>(n);
  } else {
    add_stages(n);
  }
}

FourierTransform::~FourierTransform() = default;
FourierTransform::FourierTransform(FourierTransform&&) noexcept = default;

std::int64_t FourierTransform::capacity() const {
  return by_convolution_ ? by_convolution_->inner.n_ : n_;
}

void FourierTransform::add_stages(std::int64_t n) {
  while (n > 1) {
    // A stage of radix 4 goes over memory once, where two of radix 2 would do
    // so twice.
    std::int64_t radix = n % 4 == 0 ? 4 : 2;
    while (n % radix != 0) ++radix;
    Stage stage{radix, n / radix, {}, {}};
    for (std::int64_t p = 0; p < stage.parts; ++p) {
      for (std::int64_t k = 0; k < radix; ++k) {
        const Turn w = turn(p * k, n);
        stage.re.push_back(w.re);
        stage.im.push_back(w.im);
      }
    }
    stages_.push_back(std::move(stage));
    n /= radix;
  }
}

ComplexRows FourierTransform::run(ComplexRows x, ComplexRows other,
                                  std::int64_t lanes) const {
  if (by_convolution_) return by_convolution_->run(x, other, lanes);
  std::int64_t stride = lanes;
  // Each stage sorts as it writes, so that no pass by reversed digits is
  // needed, but two arrays are.
  for (const Stage& stage : stages_) {
    run_stage(stage, stride, x, other);
    std::swap(x, other);
    stride *= stage.radix;
  }
  return x;
}

// y[r p + k] = w^(pk) Σ_j x[p + parts j] exp(-2πi jk/r), each of `stride`
// numbers.
void FourierTransform::run_stage(const Stage& stage, std::int64_t stride,
                                 ComplexRows x, ComplexRows y) {
  const std::int64_t radix = stage.radix;
  std::array<Turn, kMostRadix> unit;
  // There are at most 13 of them, computed once for all butterflies of the
  // stage.
  for (std::int64_t k = 0; k < radix; ++k) unit[at(k)] = turn(k, radix);
  const std::int64_t step = stage.parts * stride;
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    const ComplexRows from{x.re + p * stride, x.im + p * stride};
    const ComplexRows to{y.re + radix * p * stride, y.im + radix * p * stride};
    const float* w_re = stage.re.data() + p * radix;
    const float* w_im = stage.im.data() + p * radix;
    if (radix == 2) {
      butterfly_2(stride, from, step, to, stride, {w_re[1], w_im[1]});
    } else if (radix == 4) {
      butterfly_4(stride, from, step, to, stride, w_re, w_im);
    } else {
      butterfly(radix, unit.data(), stride, from, step, to, stride, w_re, w_im);
    }
  }
}

}  // namespace weft
