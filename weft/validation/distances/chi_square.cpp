// How sure the χ² test is that two samples are not of one distribution: one
// minus its p-value. With many rows it is sure of differences that do not
// matter, which is why it is here for comparison.
#include <cmath>

#include "weft/base/log_gamma.h"
#include "weft/validation/distance.h"

namespace weft {
namespace {

using validation::Distance;
using validation::Distributions;

// The lower regularized incomplete gamma function: a series for small x, else
// Lentz's continued fraction (Press et al., "Numerical recipes", section 6.2).
double gamma_p(double a, double x) {
  if (x <= 0) return 0;
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  constexpr int kMostTerms = 10000;
  constexpr double kEnough = 1e-14;
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (int i = 1; i < kMostTerms && term > sum * kEnough; ++i) {
      term *= x / (a + i);
      sum += term;
    }
    return sum * front;
  }
  double b = x + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double fraction = d;
  for (int i = 1; i < kMostTerms; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    const double change = c * d;
    fraction *= change;
    if (std::abs(change - 1) < kEnough) break;
  }
  return 1 - front * fraction;
}

Distance measure_chi_square(const Distributions& given) {
  double sum = 0;
  double places = 0;
  for (std::size_t i = 0; i < given.first.size(); ++i) {
    const double a = given.first[i] * given.first_count;
    const double b = given.second[i] * given.second_count;
    if (a + b == 0) continue;
    ++places;
    const double ratio = std::sqrt(given.second_count / given.first_count);
    sum += std::pow(ratio * a - b / ratio, 2) / (a + b);
  }
  return {places < 2 ? 0 : gamma_p((places - 1) / 2, sum / 2), {}};
}

// A p-value of one distribution is anything from 0 to 1.
double floor_of_chi_square(const Distributions&) { return 0.5; }

}  // namespace

void register_distance_chi_square(validation::DistanceRegistry& registry) {
  registry.add({.name = "chi_square",
                .summary = "1 - p of the chi-square test; for comparison",
                .measure = measure_chi_square,
                .floor = floor_of_chi_square});
}

}  // namespace weft
