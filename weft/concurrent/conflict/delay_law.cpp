#include "weft/concurrent/conflict/delay_law.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/base/error.h"

// In this file s = x / B, n = k - 1 and r = (k / (k - 1))^(k - 1), which goes
// to e; powers are taken by log1p and expm1, so that neither a long chain nor a
// short delay loses digits.

namespace weft::concurrent {
namespace {

constexpr double kE = std::numbers::e;
// ln 4 - 1: what (1 + s) ln(1 + s) - s is at s = 1.
constexpr double kLog4Less1 = 2 * std::numbers::ln2 - 1;

double waiters(const Stakes& stakes) { return stakes.chain - 1; }

// (1 + s)^n - 1.
double power_less_1(double s, double n) {
  return std::expm1(n * std::log1p(s));
}

// r - 1.
double growth(double n) { return power_less_1(1 / n, n); }

// r - 2 for n >= 2, where it is at least 1/4.
double growth_beyond_mean(double n) { return growth(n) - 1; }

bool is_pair(const Stakes& stakes) { return stakes.chain == 2; }
bool wins(const Stakes& stakes) {
  return stakes.protocol == Protocol::kRequestorWins;
}

// Gives the density at s, without the factor 1 / B. For worst_case() it solves
// the equation by which the expected cost is the same multiple of the least one
// for every D; for known_mean(), that by which it is n D (1 + l D).
double density_of(const Stakes& stakes, bool uses_mean, double s) {
  const double n = waiters(stakes);
  if (!uses_mean) {
    // For a pair n is 1, and all delays up to B are equally likely.
    if (wins(stakes)) return n * std::exp((n - 1) * std::log1p(s)) / growth(n);
    return n * std::exp(n * s) / (kE - 1);
  }
  if (!wins(stakes)) return n * std::expm1(n * s) / (kE - 2);
  if (is_pair(stakes)) return std::log1p(s) / kLog4Less1;
  return n * power_less_1(s, n - 1) / growth_beyond_mean(n);
}

double cumulative_of(const Stakes& stakes, bool uses_mean, double s) {
  const double n = waiters(stakes);
  if (!uses_mean) {
    if (wins(stakes)) return power_less_1(s, n) / growth(n);
    return std::expm1(n * s) / (kE - 1);
  }
  if (!wins(stakes)) return (std::expm1(n * s) - n * s) / (kE - 2);
  if (is_pair(stakes)) return ((1 + s) * std::log1p(s) - s) / kLog4Less1;
  return (power_less_1(s, n) - n * s) / growth_beyond_mean(n);
}

// The l of expected costs n D (1 + l D), times B.
double slope(const Stakes& stakes) {
  const double n = waiters(stakes);
  if (!wins(stakes)) return n / (2 * (kE - 2));
  if (is_pair(stakes)) return 1 / (2 * kLog4Less1);
  return (n - 1) / (2 * growth_beyond_mean(n));
}

void check_mean(double mean) {
  if (mean < 0)
    throw Error(ErrorCode::kInvalidArgument, "DelayLaw",
                "a mean remaining time of {} is below 0", mean);
}

}  // namespace

void Stakes::check() const {
  // Written so that NaN is refused too.
  if (!(abort_cost >= 0) || std::isinf(abort_cost))
    throw Error(ErrorCode::kInvalidArgument, "conflict",
                "an abort cannot cost {}", abort_cost)
        .hint("costs are times, 0 or more; has a clock gone backwards?");
  if (chain < 2)
    throw Error(ErrorCode::kInvalidArgument, "conflict",
                "a chain of {} is no conflict", chain)
        .hint("count the owner and all that wait for it");
}

double conflict_cost(const Stakes& stakes, double remaining, double delay) {
  // An owner that ends at the very moment still counts as in time.
  if (remaining <= delay) return waiters(stakes) * remaining;
  // Where the requestor wins, the owner's own time is lost as well: k x in the
  // place of (k - 1) x.
  const double lost_time = wins(stakes) ? stakes.chain : waiters(stakes);
  return lost_time * delay + stakes.abort_cost;
}

double least_cost(const Stakes& stakes, double remaining) {
  return std::min(waiters(stakes) * remaining, stakes.abort_cost);
}

double deterministic_ratio(const Stakes& stakes) {
  return wins(stakes) ? 2 + 1 / waiters(stakes) : 2;
}

DelayLaw DelayLaw::worst_case(const Stakes& stakes) { return {stakes, false}; }
DelayLaw DelayLaw::known_mean(const Stakes& stakes) { return {stakes, true}; }

DelayLaw DelayLaw::best(const Stakes& stakes, double mean_remaining) {
  check_mean(mean_remaining);
  const DelayLaw without = worst_case(stakes);
  const DelayLaw with = known_mean(stakes);
  // A mean that is not known is NaN, which is below nothing: the comparison
  // then takes the law for any time.
  return with.ratio(mean_remaining) < without.ratio(mean_remaining) ? with
                                                                    : without;
}

double DelayLaw::ratio(double mean_remaining) const {
  check_mean(mean_remaining);
  if (uses_mean_)
    // An abort that costs nothing makes this infinite or NaN, which is below no
    // other ratio: best() then takes the law without a mean.
    return 1 + slope(stakes_) * mean_remaining / stakes_.abort_cost;
  if (!wins(stakes_)) return kE / (kE - 1);
  const double beyond = growth(waiters(stakes_));
  return (beyond + 1) / beyond;
}

double DelayLaw::density(double delay) const {
  // With nothing at stake all of the law lies on the delay 0, which has no
  // density.
  if (delay < 0 || delay > stakes_.longest_delay() || stakes_.abort_cost == 0)
    return 0;
  return density_of(stakes_, uses_mean_, delay / stakes_.abort_cost) /
         stakes_.abort_cost;
}

double DelayLaw::cumulative(double delay) const {
  if (delay < 0) return 0;
  // This also spares the division below where abort_cost is 0.
  if (delay >= stakes_.longest_delay()) return 1;
  return cumulative_of(stakes_, uses_mean_, delay / stakes_.abort_cost);
}

double DelayLaw::quantile(double share) const {
  const double n = waiters(stakes_);
  if (uses_mean_) return stakes_.abort_cost * invert(share);
  if (wins(stakes_))
    return stakes_.abort_cost * std::expm1(std::log1p(share * growth(n)) / n);
  return stakes_.longest_delay() * std::log1p(share * (kE - 1));
}

// The laws with a mean have no closed inverse: Newton's method on n s, kept
// inside an interval that shrinks.
double DelayLaw::invert(double share) const {
  const double n = waiters(stakes_);
  double low = 0;
  double high = 1 / n;
  double s = std::sqrt(share) / n;  // they are all near n² s² at first
  constexpr int kMostSteps = 60;
  constexpr double kNear = 1e-14;
  for (int i = 0; i < kMostSteps && high - low > kNear / n; ++i) {
    const double excess = cumulative_of(stakes_, true, s) - share;
    (excess > 0 ? high : low) = s;
    // Share 0 begins at s = 0, where the density is 0 and the step NaN: neither
    // comparison holds then, and the interval is halved.
    const double next = s - excess / density_of(stakes_, true, s);
    const double before = s;
    s = next > low && next < high ? next : (low + high) / 2;
    if (std::abs(s - before) <= kNear / n) break;
  }
  return s;
}

}  // namespace weft::concurrent
