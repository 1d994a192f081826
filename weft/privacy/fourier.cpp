#include "weft/privacy/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "weft/base/error.h"

namespace weft::privacy {
namespace {

void reverse_bits(std::span<std::complex<double>> x) {
  std::size_t reversed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i < reversed) std::swap(x[i], x[reversed]);
    std::size_t bit = x.size() / 2;
    while (bit > 0 && (reversed & bit) != 0) {
      reversed ^= bit;
      bit /= 2;
    }
    reversed ^= bit;
  }
}

// std::complex looks for infinities in each product.
std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Fourier::Fourier(std::size_t size) : roots_(size / 2) {
  WEFT_CHECK(std::has_single_bit(size), "{} elements", size);
  // Each from its own angle: products of roots would lose digits.
  for (std::size_t k = 0; k < roots_.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) /
                         static_cast<double>(size);
    roots_[k] = {std::cos(angle), std::sin(angle)};
  }
}

void Fourier::transform(std::span<std::complex<double>> x) const {
  WEFT_CHECK(x.size() / 2 == roots_.size());
  reverse_bits(x);
  for (std::size_t half = 1; half < x.size(); half *= 2) {
    const std::size_t stride = roots_.size() / half;
    for (std::size_t begin = 0; begin < x.size(); begin += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        auto& a = x[begin + k];
        auto& b = x[begin + half + k];
        const auto turned = product(b, roots_[k * stride]);
        b = a - turned;
        a += turned;
      }
    }
  }
}

void Fourier::invert(std::span<std::complex<double>> x) const {
  transform(x);
  std::reverse(x.begin() + 1, x.end());
  for (auto& value : x) value /= static_cast<double>(x.size());
}

double Fourier::error() const {
  constexpr double kRoundingsOfAStage = 5;
  const double unit = std::numeric_limits<double>::epsilon() / 2;
  const auto stages = static_cast<double>(std::bit_width(roots_.size()));
  return kRoundingsOfAStage * stages * unit;
}

}  // namespace weft::privacy
