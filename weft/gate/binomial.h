// Exact probabilities of counts: how far from the truth the share of successes
// in N independent tries may be.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

namespace weft {

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

}  // namespace weft
