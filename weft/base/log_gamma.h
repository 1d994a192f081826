// The logarithm of |Γ(x)|, from several threads at once: std::lgamma leaves the
// sign in a variable of the whole program, which all callers write.
#pragma once

#include <cmath>

namespace weft {

inline double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// ln (n choose k).
inline double log_choose(double n, double k) {
  return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

}  // namespace weft
