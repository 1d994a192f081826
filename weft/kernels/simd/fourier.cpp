// Stockham's algorithm for mixed radices, and Bluestein's for sizes with a
// large prime factor.
#include "weft/kernels/simd/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/base/index.h"

namespace weft {
namespace {

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

// Each stage goes over memory once, so few large radices are better than many
// small ones; 16 is four by four, not eight by two.
std::int64_t next_radix(std::int64_t n) {
  if (n % 8 == 0 && n != 16) return 8;
  if (n % 4 == 0) return 4;
  std::int64_t radix = 2;
  while (n % radix != 0) ++radix;
  return radix;
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
  if (largest_prime_factor(n) > kMostFourierRadix) {
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
    const std::int64_t radix = next_radix(n);
    FourierStage stage{radix, n / radix, {}, {}, {}, {}};
    for (std::int64_t p = 0; p < stage.parts; ++p) {
      for (std::int64_t k = 0; k < radix; ++k) {
        const Turn w = turn(p * k, n);
        stage.re.push_back(w.re);
        stage.im.push_back(w.im);
      }
    }
    for (std::int64_t k = 0; k < radix; ++k) {
      const Turn w = turn(k, radix);
      stage.unit_re.push_back(w.re);
      stage.unit_im.push_back(w.im);
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
  for (const FourierStage& stage : stages_) {
    run_fourier_stage(stage, stride, x, other);
    std::swap(x, other);
    stride *= stage.radix;
  }
  return x;
}

}  // namespace weft
