#include "weft/gate/binomial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/log_gamma.h"

namespace weft {
namespace {

// K / tries - p > tolerance says K >= least for all p in
// [(least - 1) / tries - tolerance, least / tries - tolerance); the tail grows
// with p, so that its supremum there is at the open end.
double log_deviation_at(std::int64_t tries, double tolerance,
                        std::int64_t least) {
  const double p =
      static_cast<double>(least) / static_cast<double>(tries) - tolerance;
  return p <= 0 ? -std::numeric_limits<double>::infinity()
                : log_binomial_tail(tries, p, least);
}

// Chernoff's bound of the same, which costs two logarithms.
double log_chernoff_at(std::int64_t tries, double tolerance,
                       std::int64_t least) {
  const auto count = static_cast<double>(tries);
  const double share = static_cast<double>(least) / count;
  const double p = share - tolerance;
  if (p <= 0) return -std::numeric_limits<double>::infinity();
  double divergence = share * std::log(share / p);
  if (least < tries) {
    divergence += (1 - share) * std::log((1 - share) / (1 - p));
  }
  return -count * divergence;
}

// Where the deviation is worst, found on a grid and refined around it.
std::int64_t worst_count(std::int64_t tries, double tolerance) {
  std::int64_t low = 1;
  std::int64_t high = tries;
  std::int64_t worst = tries;
  while (low < high) {
    constexpr std::int64_t kGrid = 8;
    const std::int64_t stride = std::max<std::int64_t>((high - low) / kGrid, 1);
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t least = low; least <= high; least += stride) {
      const double here = log_deviation_at(tries, tolerance, least);
      if (here > most) {
        most = here;
        worst = least;
      }
    }
    if (stride == 1) break;
    low = std::max(low, worst - stride);
    high = std::min(high, worst + stride);
  }
  return worst;
}

}  // namespace

double log_binomial_term(double n, double p, double k) {
  return log_choose(n, k) + k * std::log(p) + (n - k) * std::log1p(-p);
}

double log_binomial_tail(std::int64_t tries, double p, std::int64_t least) {
  WEFT_CHECK(p > 0 && p < 1 && least > 0 && least <= tries);
  const auto n = static_cast<double>(tries);
  auto k = static_cast<double>(least);
  const double first = log_binomial_term(n, p, k);
  // The terms behind the first one, relative to it.
  const double odds = p / (1 - p);
  double term = 1;
  double sum = 1;
  for (; k < n && term > 1e-17 * sum; ++k) {
    term *= odds * (n - k) / (k + 1);
    sum += term;
  }
  return first + std::log(sum);
}

double log_worst_deviation(std::int64_t tries, double tolerance) {
  double worst =
      log_deviation_at(tries, tolerance, worst_count(tries, tolerance));
  for (std::int64_t least = 1; least <= tries; ++least) {
    if (log_chernoff_at(tries, tolerance, least) <= worst) continue;
    worst = std::max(worst, log_deviation_at(tries, tolerance, least));
  }
  return worst;
}

std::int64_t count_above(std::int64_t tries, double share) {
  constexpr double kRounding = 1e-6;
  return static_cast<std::int64_t>(
             std::floor(static_cast<double>(tries) * share - kRounding)) +
         1;
}

std::optional<std::int64_t> least_tries(
    std::int64_t high, const std::function<bool(std::int64_t)>& holds) {
  std::int64_t low = 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  // Probabilities fall with the tries but for the steps of counts.
  constexpr std::int64_t kMostSteps = 4096;
  for (std::int64_t tries = high; tries < high + kMostSteps; ++tries) {
    if (holds(tries)) return tries;
  }
  return std::nullopt;
}

std::optional<std::int64_t> tries_at_share(double share, double tolerance,
                                           double log_probability) {
  WEFT_CHECK(share > 0 && tolerance > 0 && share + tolerance < 1);
  const double hoeffding = -log_probability / (2 * tolerance * tolerance);
  if (!(hoeffding < static_cast<double>(kMostExactTries))) return std::nullopt;
  return least_tries(
      static_cast<std::int64_t>(hoeffding) + 1, [&](std::int64_t tries) {
        return log_binomial_tail(tries, share,
                                 count_above(tries, share + tolerance)) <=
               log_probability - kExactSlack;
      });
}

std::int64_t tries_for_deviation(double tolerance, double log_probability) {
  const auto holds = [&](std::int64_t tries) {
    return log_deviation_at(tries, tolerance, worst_count(tries, tolerance)) <=
           log_probability;
  };
  // Hoeffding's number always holds.
  auto high = static_cast<std::int64_t>(
      std::ceil(-log_probability / (2 * tolerance * tolerance)));
  std::int64_t low = 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  // What the search took for the worst may not be it.
  while (log_worst_deviation(high, tolerance) > log_probability) ++high;
  return high;
}

}  // namespace weft
