// Gaussian noise on a sum over a Poisson sample: a step of DP-SGD (Mironov,
// Talwar, Zhang, "Rényi differential privacy of the sampled Gaussian
// mechanism", 2019).
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/privacy/hockey_stick.h"
#include "weft/privacy/log_math.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/renyi_divergence.h"

namespace weft {
namespace {

using privacy::kLogZero;
using privacy::log_add;
using privacy::log_erfc;

// ln A of section 3.3 for any order: two series, of the integrals on either
// side of z0, where both parts of the mixture are equal. Beyond the order their
// terms have signs in turns; the sum of their sizes, which is taken, is an
// upper bound (as in dp-accounting).
double log_moment_of_fraction(double rate, double noise, double order) {
  constexpr int kMostTerms = 100'000;
  constexpr double kNegligible = -30;  // e^-30 of the sum
  const double width = std::sqrt(2.0) * noise;
  const double z0 = noise * noise * std::log(1 / rate - 1) + 0.5;
  double log_moment = kLogZero;
  double log_binomial = 0;
  double last_below = kLogZero;
  double last_above = kLogZero;
  for (int i = 0; i < kMostTerms; ++i) {
    const double j = order - i;
    const double below = log_binomial + i * std::log(rate) +
                         j * std::log1p(-rate) +
                         i * (i - 1.0) / (2 * noise * noise) +
                         log_erfc((i - z0) / width) - std::log(2);
    const double above = log_binomial + j * std::log(rate) +
                         i * std::log1p(-rate) +
                         j * (j - 1) / (2 * noise * noise) +
                         log_erfc((z0 - j) / width) - std::log(2);
    log_moment = log_add(log_moment, log_add(below, above));
    if (below < last_below && above < last_above &&
        std::max(below, above) < log_moment + kNegligible)
      return log_moment;
    last_below = below;
    last_above = above;
    log_binomial += std::log(std::abs(j) / (i + 1));
  }
  // The series did not end: this order says nothing.
  return std::numeric_limits<double>::infinity();
}

double subsampled_gaussian_renyi(const Options& options, double order) {
  const auto noise = option<double>(options, "noise");
  const auto rate = option<double>(options, "rate");
  if (rate == 0) return 0;
  if (noise == 0 || std::isinf(order))
    return std::numeric_limits<double>::infinity();
  if (rate == 1) return privacy::gaussian_renyi(noise, order);
  const double line = privacy::sampled_log_moment_line(
      rate, order, [&](double k) { return privacy::gaussian_renyi(noise, k); });
  if (order == std::floor(order)) return line / (order - 1);
  // A moment is at least 1; where it is near, the rounding of the series is
  // larger than what is told, and the line has more digits.
  constexpr double kRounding = 1e-14;
  const double series =
      std::max(0.0, log_moment_of_fraction(rate, noise, order)) + kRounding;
  return std::min(line, series) / (order - 1);
}

}  // namespace

void register_mechanism_subsampled_gaussian(
    privacy::MechanismRegistry& mechanisms) {
  mechanisms.add(
      {.name = "subsampled_gaussian",
       .summary = "Gaussian noise on the sum over a Poisson sample (DP-SGD)",
       .options = {privacy::noise_option(), privacy::rate_option()},
       .renyi = subsampled_gaussian_renyi,
       .hockey_stick = [](const Options& options, privacy::Neighbour neighbour,
                          double epsilon) {
         return privacy::subsampled_hockey_stick(
             option<double>(options, "rate"), neighbour, epsilon,
             [&](double moved) {
               return privacy::gaussian_hockey_stick(
                   option<double>(options, "noise"), moved);
             });
       }});
}

}  // namespace weft
