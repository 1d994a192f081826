#include "weft/concurrent/sgd/bounds.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft::concurrent {
namespace {

void check_positive(const char* name, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error(ErrorCode::kInvalidArgument, "sgd bound",
              "{} is {}, and must be above 0 and finite", name, value);
}

void check_not_negative(const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw Error(ErrorCode::kInvalidArgument, "sgd bound",
              "{} is {}, and must be at least 0 and finite", name, value);
}

void check_share(const char* name, double value) {
  if (value > 0 && value <= 1) return;
  throw Error(ErrorCode::kInvalidArgument, "sgd bound",
              "{} is {}, and must be in (0, 1]", name, value);
}

void check_constants(const SgdConstants& constants) {
  check_positive("the convexity c", constants.convexity);
  check_positive("the Lipschitz constant L", constants.lipschitz);
  check_positive("the bound M of gradients", constants.gradient);
  check_positive("eps", constants.within);
  check_positive("the first distance", constants.distance_2);
  check_share("theta", constants.slack);
}

SgdBound bound_of(const SgdConstants& constants, double failure,
                  double factor) {
  check_constants(constants);
  check_share("the probability of failure", failure);
  const double scale = constants.convexity * constants.within * constants.slack;
  return {.rate = scale / factor,
          .factor = factor,
          .iterations =
              factor / (constants.convexity * scale * failure) *
              // Who begins within eps of the end needs no more than one factor.
              std::max(1.0, std::log(std::exp(1.0) * constants.distance_2 /
                                     constants.within))};
}

void check_rate(double rate) {
  if (rate > 0 && rate < 1) return;
  throw Error(ErrorCode::kInvalidArgument, "sgd bound",
              "the rate is {}, and must be in (0, 1)", rate);
}

}  // namespace

SgdBound sequential_bound(const SgdConstants& constants, double failure) {
  return bound_of(constants, failure, constants.gradient * constants.gradient);
}

SgdBound hogwild_bound(const SgdConstants& constants, double failure,
                       double expected_delay) {
  check_not_negative("the delay", expected_delay);
  const double m = constants.gradient;
  return bound_of(constants, failure,
                  m * m + 2 * constants.lipschitz * m * expected_delay *
                              std::sqrt(constants.within));
}

SgdBound lock_free_bound(const SgdConstants& constants, double failure,
                         double tau_max, int threads, double dimensions) {
  check_not_negative("tau_max", tau_max);
  check_positive("the number of threads", threads);
  check_positive("the number of entries", dimensions);
  const double m = constants.gradient;
  return bound_of(constants, failure,
                  m * m + 4 * std::sqrt(constants.within) *
                              constants.lipschitz * m *
                              std::sqrt(tau_max * threads * dimensions));
}

int full_sgd_epochs(const SgdConstants& constants, double rate, int threads) {
  check_constants(constants);
  check_positive("the rate", rate);
  check_positive("the number of threads", threads);
  const double halvings = std::log2(rate * 2 * constants.gradient * threads /
                                    std::sqrt(constants.within));
  return std::max(1, static_cast<int>(std::ceil(halvings)));
}

double freeze_threshold(double rate) {
  check_rate(rate);
  return std::log(rate / 2) / std::log1p(-rate);
}

double freeze_factor(double rate, double delay) {
  check_rate(rate);
  check_not_negative("the delay", delay);
  return std::pow(1 - rate, delay) - rate;
}

double freeze_slowdown(double rate, double delay) {
  return delay * std::log1p(-rate) /
         std::log(std::abs(freeze_factor(rate, delay)));
}

}  // namespace weft::concurrent
