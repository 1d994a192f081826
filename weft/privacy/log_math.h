// Sums and tails of numbers that are known by their logarithms.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace weft::privacy {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

// ln(e^a + e^b).
inline double log_add(double a, double b) {
  const double most = std::max(a, b);
  if (std::isinf(most)) return most;
  return most + std::log1p(std::exp(std::min(a, b) - most));
}

// ln(erfc(x)), also where erfc(x) is below the smallest double.
inline double log_erfc(double x) {
  constexpr double kFar = 12;
  if (x < kFar) return std::log(std::erfc(x));
  // Its asymptotic series (Abramowitz and Stegun, 7.1.23) has terms below 1e-16
  // here before they grow again.
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 9; ++k) {
    term *= -(2 * k - 1) / (2 * x * x);
    sum += term;
  }
  return -x * x - std::log(x) - 0.5 * std::log(std::numbers::pi) +
         std::log(sum);
}

}  // namespace weft::privacy
