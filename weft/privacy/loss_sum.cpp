#include "weft/privacy/loss_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <ranges>

#include "weft/privacy/fourier.h"

namespace weft::privacy {
namespace {

constexpr double kOutside = 1e-15;
// Losses as rare as this are where a tilted sum has its mean.
constexpr double kRare = 1e-12;
// Tilting takes an exponential: 2^-53 for each unit of its exponent, which is
// below 100 where masses matter.
constexpr double kTiltError = 2e-14;

double mean_of(const LossTerm& term) {
  double mean = 0;
  for (std::size_t i = 0; i < term.masses.size(); ++i)
    mean += term.masses[i] * static_cast<double>(i);
  return mean;
}

double variance_of(std::span<const LossTerm> terms) {
  double variance = 0;
  for (const LossTerm& term : terms) {
    const double mean = mean_of(term);
    double own = 0;
    for (std::size_t i = 0; i < term.masses.size(); ++i) {
      const double away = static_cast<double>(i) - mean;
      own += term.masses[i] * away * away;
    }
    variance += static_cast<double>(term.times) * own;
  }
  return variance;
}

// The sum of mass e^(-fall distance) over masses, the first of which has the
// distance 0. An exponential is that of the block's first mass times that of
// the place in the block: one of them is computed for each block, and none
// passes 1.
template <class Masses>
double falling_sum(const Masses& masses, double fall) {
  constexpr std::size_t kBlock = 64;
  std::array<double, kBlock> in_block;
  for (std::size_t i = 0; i < kBlock; ++i)
    in_block[i] = std::exp(-fall * static_cast<double>(i));
  double sum = 0;
  for (std::size_t first = 0; first < masses.size(); first += kBlock) {
    const double block = std::exp(-fall * static_cast<double>(first));
    if (block == 0) break;
    const std::size_t size = std::min(kBlock, masses.size() - first);
    double own = 0;
    for (std::size_t i = 0; i < size; ++i)
      own += masses[first + i] * in_block[i];
    sum += own * block;
  }
  return sum;
}

// ln E e^(tilt (loss - lowest)) of one loss. It begins with the largest
// exponent, so that nothing passes the range of doubles.
double log_mean_exp(const LossTerm& term, double tilt) {
  if (tilt <= 0) return std::log(falling_sum(term.masses, -tilt));
  const double top = tilt * static_cast<double>(term.masses.size() - 1);
  return top + std::log(falling_sum(std::views::reverse(term.masses), tilt));
}

double log_mean_exp(std::span<const LossTerm> terms, double tilt) {
  double total = 0;
  for (const LossTerm& term : terms)
    total += static_cast<double>(term.times) * log_mean_exp(term, tilt);
  return total;
}

struct Tail {
  double tilt = 0;   // signed as the direction
  double bound = 0;  // above the sum of the terms' lowest losses
};

// Beyond the bound is at most `mass`: Chernoff's bound (K(tilt) - ln mass) /
// tilt, whose one minimum is searched by thirds. A normal distribution has it
// at `of_normal`; where few losses are far above the others, it lies lower.
Tail tail_of(std::span<const LossTerm> terms, double variance, double mass,
             int direction) {
  const double of_normal = std::sqrt(-2 * std::log(mass) / variance);
  const auto at = [&](double log_tilt) -> Tail {
    const double tilt = direction * of_normal * std::exp2(log_tilt);
    return {tilt, (log_mean_exp(terms, tilt) - std::log(mass)) / tilt};
  };
  double low = -16;
  double high = 2;
  while (high - low > 0.25) {
    const double third = (high - low) / 3;
    if (direction * at(low + third).bound < direction * at(high - third).bound)
      high -= third;
    else
      low += third;
  }
  return at((low + high) / 2);
}

using Spectrum = std::vector<std::complex<double>>;

std::complex<double> power(std::complex<double> base, std::int64_t exponent) {
  std::complex<double> result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

// The spectrum of one tilted loss, whose masses sum to about 1.
Spectrum spectrum_of(const LossTerm& term, double tilt, std::size_t size,
                     const Fourier& fourier) {
  const double log_norm = log_mean_exp(term, tilt);
  Spectrum spectrum(size);
  for (std::size_t i = 0; i < term.masses.size(); ++i)
    spectrum[i % size] +=
        term.masses[i] * std::exp(tilt * static_cast<double>(i) - log_norm);
  fourier.transform(spectrum);
  return spectrum;
}

// Upper bounds of all masses of the window, by way of the tilted sum.
std::vector<double> upper_masses(std::span<const LossTerm> terms,
                                 const LossWindow& window, double tilt,
                                 const Fourier& fourier) {
  const std::size_t points = window.points();
  const std::size_t size = std::bit_ceil(points);
  const double unit = std::numeric_limits<double>::epsilon() / 2;
  const double error = fourier.error() + (tilt == 0 ? 0 : kTiltError);

  Spectrum product(size, 1);
  std::vector<double> sizes(size, 1);     // of the product, from above
  std::vector<double> relative(size, 0);  // its error, in these
  std::int64_t lowest = 0;
  for (const LossTerm& term : terms) {
    const Spectrum own = spectrum_of(term, tilt, size, fourier);
    const auto times = static_cast<double>(term.times);
    for (std::size_t k = 0; k < size; ++k) {
      const double most = std::abs(own[k]) + error;
      product[k] *= power(own[k], term.times);
      sizes[k] *= std::pow(most, times);
      // d z^n = n z^n dz / z, and each product of numbers rounds.
      relative[k] += times * (error / most + 3 * unit);
    }
    lowest += term.times * term.lowest;
  }
  double total = 0;
  double wrong = 0;
  for (std::size_t k = 0; k < size; ++k) {
    total += sizes[k];
    wrong += sizes[k] * relative[k];
  }
  fourier.invert(product);
  const double off =
      (wrong + total * fourier.error()) / static_cast<double>(size);

  // Both the sum and its window begin at places of their own on the circle.
  const double log_norm = log_mean_exp(terms, tilt);
  std::vector<double> masses(points);
  for (std::size_t i = 0; i < points; ++i) {
    const std::int64_t above =
        window.lowest - lowest + static_cast<std::int64_t>(i);
    // The size is a power of two.
    const auto place = static_cast<std::size_t>(above) & (size - 1);
    const double bent =
        tilt == 0 ? 1 : std::exp(log_norm - tilt * static_cast<double>(above));
    masses[i] = (std::max(0.0, product[place].real()) + off) * bent;
  }
  return masses;
}

}  // namespace

LossWindow loss_window(std::span<const LossTerm> terms) {
  LossWindow window;
  for (const LossTerm& term : terms) {
    window.lowest += term.times * term.lowest;
    window.highest +=
        term.times *
        (term.lowest + static_cast<std::int64_t>(term.masses.size()) - 1);
  }
  const double variance = variance_of(terms);
  if (variance == 0) return window;
  const std::int64_t origin = window.lowest;
  const auto room = static_cast<double>(window.highest - origin);
  // Where the variance is so small that the tilt passes all doubles, there is
  // no bound, and nothing is left out: a wider window is right as well.
  const auto bound_or = [&](int direction, double whole) {
    const double bound =
        tail_of(terms, variance, kOutside / 2, direction).bound;
    return std::isfinite(bound) ? bound : whole;
  };
  const double below = bound_or(-1, 0.0);
  const double above = bound_or(1, room);
  window.lowest = origin + static_cast<std::int64_t>(
                               std::floor(std::clamp(below, 0.0, room)));
  window.highest = origin + static_cast<std::int64_t>(
                                std::ceil(std::clamp(above, 0.0, room)));
  window.outside = kOutside;
  return window;
}

std::vector<double> loss_sum(std::span<const LossTerm> terms,
                             const LossWindow& window) {
  const Fourier fourier(std::bit_ceil(window.points()));
  std::vector<double> masses = upper_masses(terms, window, 0, fourier);
  const double variance = variance_of(terms);
  if (variance == 0) return masses;
  const double tilt = tail_of(terms, variance, kRare, 1).tilt;
  const std::vector<double> tilted = upper_masses(terms, window, tilt, fourier);
  // Exponents of the tilt are sums of as many logarithms as there are losses.
  double rounded = 1e-12;
  for (const LossTerm& term : terms)
    rounded += 1e-15 * static_cast<double>(term.times);
  for (std::size_t i = 0; i < masses.size(); ++i)
    masses[i] = std::min(masses[i], tilted[i] * (1 + rounded));
  return masses;
}

}  // namespace weft::privacy
