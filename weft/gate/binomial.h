// Exact probabilities of counts: how far from the truth the share of successes
// in N independent tries may be.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace weft {

// ln P[K = k] for K successes of n tries, each with probability p in (0, 1).
double log_binomial_term(double n, double p, double k);

// ln P[K >= least] for K successes of `tries`, each with probability p in
// (0, 1); `least` is above p * tries, and at most `tries`. To about 12 digits;
// takes as many steps as the tail has terms that matter.
double log_binomial_tail(std::int64_t tries, double p, std::int64_t least);

// The supremum over p of ln P[K / tries - p > tolerance], every place where it
// may lie looked at.
double log_worst_deviation(std::int64_t tries, double tolerance);

// The least number of tries, up to the steps of counts, whose worst deviation
// has at most this probability.
std::int64_t tries_for_deviation(double tolerance, double log_probability);

// The least number of tries, up to the steps of counts, of which the share of
// successes is more than `tolerance` above their probability `share` with this
// probability at most; nothing beyond 16,777,216 tries. `share` is in (0, 1),
// and so is its sum with the tolerance.
std::optional<std::int64_t> tries_at_share(double share, double tolerance,
                                           double log_probability);

// The least count that is more than `share` of the tries; one less where
// rounding leaves it in doubt.
std::int64_t count_above(std::int64_t tries, double share);

// The least number of tries that `holds`, up to the steps of counts, where
// `high` or a few more are known to; nothing where they do not.
std::optional<std::int64_t> least_tries(
    std::int64_t high, const std::function<bool(std::int64_t)>& holds);

// Tries of which logarithms of factorials still have the digits that matter.
inline constexpr std::int64_t kMostExactTries = std::int64_t{1} << 24;
// What rounding may have taken from a logarithm of a probability.
inline constexpr double kExactSlack = 1e-6;

}  // namespace weft
