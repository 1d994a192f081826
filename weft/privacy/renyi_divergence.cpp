#include "weft/privacy/renyi_divergence.h"

#include <cmath>
#include <limits>

namespace weft::privacy {

double gaussian_renyi(double noise, double order) {
  return order / (2 * noise * noise);
}

double laplace_renyi(double noise, double order) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  // ln(order / (2 order - 1) e^((order - 1) / noise) + (order - 1) /
  // (2 order - 1) e^(-order / noise)) / (order - 1), with e^((order - 1) /
  // noise) before the bracket, as it may be no double.
  const double epsilon = 1 / noise;
  if (std::isinf(order)) return epsilon;
  const double width = 2 * order - 1;
  return epsilon +
         std::log1p((order - 1) * std::expm1(-width * epsilon) / width) /
             (order - 1);
}

}  // namespace weft::privacy
