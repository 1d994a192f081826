// The hockey-stick divergences of pairs of distributions,
//   H(epsilon) = sup over S of P(S) - e^epsilon Q(S),
// which is the delta that belongs to an epsilon.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/privacy/log_math.h"
#include "weft/privacy/mechanism.h"

namespace weft::privacy {

// P = N(1, noise^2), Q = N(0, noise^2) (Balle and Wang, "Improving the Gaussian
// mechanism for differential privacy", ICML 2018, theorem 8).
inline double gaussian_hockey_stick(double noise, double epsilon) {
  if (noise == 0) return 1;
  const auto log_normal_cdf = [](double x) {
    return log_erfc(-x / std::numbers::sqrt2) - std::numbers::ln2;
  };
  const double half = 1 / (2 * noise);
  const double of_p = log_normal_cdf(half - epsilon * noise);
  const double of_q = epsilon + log_normal_cdf(-half - epsilon * noise);
  // e^p - e^q without the digits that they share.
  return of_q < of_p ? -std::exp(of_p) * std::expm1(of_q - of_p) : 0;
}

// P = Laplace(1, noise), Q = Laplace(0, noise).
inline double laplace_hockey_stick(double noise, double epsilon) {
  const double most = 1 / noise;
  if (epsilon >= most) return 0;
  return epsilon > -most ? -std::expm1((epsilon - most) / 2)
                         : -std::expm1(epsilon);
}

// The same behind Poisson sampling: with the person, P' = (1 - q) Q + q P, and
// without, Q. `base` is that of the unsampled pair, which is the same in both
// directions. What P' - e^epsilon Q and Q - e^epsilon P' have of Q is moved to
// one side, which leaves the base's at another epsilon (Balle, Barthe,
// Gaboardi, "Privacy amplification by subsampling", NeurIPS 2018, theorem 2).
template <class Base>
double subsampled_hockey_stick(double rate, Neighbour neighbour, double epsilon,
                               Base&& base) {
  if (rate == 0) return std::max(0.0, -std::expm1(epsilon));
  if (rate == 1) return base(epsilon);
  if (neighbour == Neighbour::kRemoved) {
    // ln(1 + (e^epsilon - 1) / q), also where e^epsilon is no double.
    if (epsilon > 1) {
      return rate * base(epsilon + std::log1p((rate - 1) * std::exp(-epsilon)) -
                         std::log(rate));
    }
    const double moved = std::expm1(epsilon) / rate;
    if (moved <= -1) return -std::expm1(epsilon);
    return rate * base(std::log1p(moved));
  }
  const double of_q = rate - (1 - rate) * std::expm1(epsilon);
  if (of_q <= 0) return 0;
  return of_q * base(epsilon + std::log(rate / of_q));
}

}  // namespace weft::privacy
