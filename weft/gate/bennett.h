// Bennett's inequality: a mean of N numbers, each at most 1 from its mean and
// of a variance of at most p, is further than t above its expectation with
// probability exp(-N p h(t / p)) at most (Bennett, "Probability inequalities
// for the sum of independent random variables", JASA 1962).
//
// Threads: pure functions.
#pragma once

namespace weft {

// h(u) = (1 + u) ln(1 + u) - u, to 14 digits for any u > 0.
double bennett_h(double u);

// p h(t / p): how much each number adds to the exponent.
inline double bennett_rate(double variance, double tolerance) {
  return variance * bennett_h(tolerance / variance);
}

}  // namespace weft
