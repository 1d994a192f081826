// Rényi divergences that several mechanisms are made of.
//
// Threads: pure functions.
#pragma once

#include <cmath>

#include "weft/privacy/log_math.h"

namespace weft::privacy {

// N(1, noise^2) from N(0, noise^2): order / (2 noise^2).
double gaussian_renyi(double noise, double order);
// Laplace(1, noise) from Laplace(0, noise) (Mironov, 2017, proposition 6).
double laplace_renyi(double noise, double order);

// (order - 1) times the divergence behind Poisson sampling, for a whole order
// from 1 on and a rate of (0, 1): ln of the sum over k of
//   C(order, k) (1 - rate)^(order - k) rate^k e^((k - 1) divergence(k))
// (Zhu and Wang, "Poisson subsampled Rényi differential privacy", ICML 2019,
// theorem 8, which holds for Gaussian and Laplace noise). Without the
// exponentials the sum is 1. What they add to it is summed, as it may be far
// smaller.
template <class Divergence>
double sampled_log_moment(double rate, double order, Divergence&& divergence) {
  double log_added = kLogZero;
  double log_binomial = std::log(order);
  for (double k = 2; k <= order; ++k) {
    log_binomial += std::log((order - k + 1) / k);
    const double exponent = (k - 1) * divergence(k);
    log_added =
        log_add(log_added, log_binomial + k * std::log(rate) +
                               (order - k) * std::log1p(-rate) + exponent +
                               std::log(-std::expm1(-exponent)));
  }
  return log_add(0, log_added);
}

// The same from above for any order: the logarithm is convex in the order, so
// that between whole ones it is at most the line.
template <class Divergence>
double sampled_log_moment_line(double rate, double order,
                               Divergence&& divergence) {
  const double below = std::floor(order);
  const double share = order - below;
  const double at_below = sampled_log_moment(rate, below, divergence);
  if (share == 0) return at_below;
  return (1 - share) * at_below +
         share * sampled_log_moment(rate, below + 1, divergence);
}

}  // namespace weft::privacy
