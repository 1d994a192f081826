#include "weft/comm/codec/double_exponential.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/comm/codec/least_squares.h"

namespace weft {
namespace {

constexpr std::size_t kFewestPoints = 5;
// Terms that are so many times larger than the curve cancel, and what is left
// of them is mostly what their factors lose as f32.
constexpr double kMostCancelled = 1e3;

// Steps between y.size() points from 0 to 1.
double step_of(std::size_t points) {
  return 1.0 / static_cast<double>(points - 1);
}

struct Exponents {
  double p;
  double q;
};

// With S the integral of y and SS that of S, y = A SS + B S + C x + D for a
// sum of two exponentials, and p, q are the roots of z^2 = B z + A.
std::optional<Exponents> fit_exponents(std::span<const float> y,
                                       double largest) {
  const double step = step_of(y.size());
  LeastSquares equations(4);
  double before = static_cast<double>(y[0]) / largest;
  double sum = 0;
  double sum_of_sums = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    // Exponents do not depend on the scale of y, and products of values of
    // about 1 neither overflow nor vanish.
    const double value = static_cast<double>(y[i]) / largest;
    const double last_sum = sum;
    if (i > 0) {
      sum += step * (value + before) / 2;
      sum_of_sums += step * (sum + last_sum) / 2;
    }
    equations.add(
        std::array{sum_of_sums, sum, step * static_cast<double>(i), 1.0},
        value);
    before = value;
  }
  const auto solution = equations.solve();
  if (!solution) return std::nullopt;
  const double a = (*solution)[0];
  const double b = (*solution)[1];
  const double discriminant = b * b + 4 * a;
  // The exponents would be complex, or equal and thus one.
  if (!(discriminant > 0)) return std::nullopt;
  const double root = std::sqrt(discriminant);
  return Exponents{(b + root) / 2, (b - root) / 2};
}

// Neither infinite nor too small to have all its digits.
bool fits_float(double value) {
  const double magnitude = std::abs(value);
  return magnitude <= static_cast<double>(std::numeric_limits<float>::max()) &&
         (magnitude == 0 ||
          magnitude >= static_cast<double>(std::numeric_limits<float>::min()));
}

}  // namespace

bool DoubleExponential::is_bounded() const {
  if (!std::isfinite(p) || !std::isfinite(q)) return false;
  // Each term is largest at an end.
  const auto most = [](float factor, float exponent) {
    return std::abs(static_cast<double>(factor)) *
           std::exp(std::max(0.0, static_cast<double>(exponent)));
  };
  return most(a, p) + most(b, q) <=
         static_cast<double>(std::numeric_limits<float>::max());
}

void DoubleExponential::evaluate(std::span<float> y) const {
  const double step = step_of(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = step * static_cast<double>(i);
    y[i] = static_cast<float>(
        static_cast<double>(a) * std::exp(static_cast<double>(p) * x) +
        static_cast<double>(b) * std::exp(static_cast<double>(q) * x));
  }
}

std::optional<DoubleExponential> fit_double_exponential(
    std::span<const float> y) {
  if (y.size() < kFewestPoints) return std::nullopt;
  const auto largest =
      static_cast<double>(*std::max_element(y.begin(), y.end()));
  // Nothing but zeros has no shape to fit.
  if (largest == 0) return std::nullopt;
  const auto exponents = fit_exponents(y, largest);
  if (!exponents) return std::nullopt;

  // The factors, given the exponents as the receiver sees them. Scaled to
  // [0, 1], the terms do not overflow.
  DoubleExponential curve;
  curve.p = static_cast<float>(exponents->p);
  curve.q = static_cast<float>(exponents->q);
  if (!std::isfinite(curve.p) || !std::isfinite(curve.q) ||
      curve.p == curve.q) {
    return std::nullopt;
  }
  const double top_p = std::max(0.0, static_cast<double>(curve.p));
  const double top_q = std::max(0.0, static_cast<double>(curve.q));
  const double step = step_of(y.size());
  LeastSquares equations(2);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = step * static_cast<double>(i);
    equations.add(
        std::array{std::exp(static_cast<double>(curve.p) * x - top_p),
                   std::exp(static_cast<double>(curve.q) * x - top_q)},
        static_cast<double>(y[i]));
  }
  const auto factors = equations.solve();
  if (!factors) return std::nullopt;
  if (std::abs((*factors)[0]) + std::abs((*factors)[1]) >
      kMostCancelled * largest) {
    return std::nullopt;
  }
  const double a = (*factors)[0] * std::exp(-top_p);
  const double b = (*factors)[1] * std::exp(-top_q);
  if (!fits_float(a) || !fits_float(b)) return std::nullopt;
  curve.a = static_cast<float>(a);
  curve.b = static_cast<float>(b);
  if (!curve.is_bounded()) return std::nullopt;
  return curve;
}

}  // namespace weft
