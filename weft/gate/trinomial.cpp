#include "weft/gate/trinomial.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/gate/bennett.h"
#include "weft/gate/binomial.h"

namespace weft {

double log_gain_tail(std::int64_t tries, double up, double down,
                     std::int64_t least) {
  const double moved = up + down;
  WEFT_CHECK(up > 0 && down >= 0 && moved < 1 && least > 0);
  const auto n = static_cast<double>(tries);
  // M points are not zero, and of these enough must be ups. What is left out
  // is this much rarer than what is summed.
  constexpr double kLeftOut = -46;  // 1e-20
  double most = -HUGE_VAL;
  double sum = 0;  // relative to exp(most)
  for (std::int64_t m = least; m <= tries; ++m) {
    const double of_moved = log_binomial_term(n, moved, static_cast<double>(m));
    const bool is_behind_mode = static_cast<double>(m) > (n + 1) * moved;
    if (of_moved < most + kLeftOut) {
      if (is_behind_mode) break;
      continue;
    }
    const std::int64_t ups = (m + least + 1) / 2;
    double term = of_moved;
    if (down > 0) term += log_binomial_tail(m, up / moved, ups);
    if (term > most) {
      sum *= std::exp(most - term);
      most = term;
    }
    sum += std::exp(term - most);
  }
  return most + std::log(sum);
}

std::optional<std::int64_t> tries_for_gain(double gain, double tolerance,
                                           double difference,
                                           double log_probability) {
  const double up = (difference + gain) / 2;
  const double down = (difference - gain) / 2;
  if (up <= 0 || down <= 0 || difference > 2.0 / 3 || gain + tolerance <= 0) {
    return std::nullopt;
  }
  // Bennett's number, by which the search is bounded.
  const double bennett = -log_probability / bennett_rate(difference, tolerance);
  if (!(bennett < static_cast<double>(kMostExactTries))) return std::nullopt;
  return least_tries(
      static_cast<std::int64_t>(bennett) + 1, [&](std::int64_t tries) {
        const auto n = static_cast<double>(tries);
        const std::int64_t least = count_above(tries, gain + tolerance);
        return least > 0 && least <= tries &&
               tolerance * n >= std::sqrt(3 * n * difference) + 3 &&
               log_gain_tail(tries, up, down, least) <=
                   log_probability - kExactSlack;
      });
}

}  // namespace weft
