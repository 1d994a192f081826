// Exact probabilities of gains: by how much the new model is right more often
// than the old one on N points, of which each adds 1, 0 or -1.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace weft {

// ln P[S >= least] for the sum S of `tries` numbers that are 1 with probability
// `up` and -1 with probability `down`; `up` is above zero, up + down below 1,
// and `least` above tries * (up - down) and zero.
double log_gain_tail(std::int64_t tries, double up, double down,
                     std::int64_t least);

// The least number of points, up to the steps of counts, on which a gain of
// `gain` at most is found to be above gain + tolerance with this probability at
// most, where models differ on `difference` of the points at most. Nothing
// where the worst case is not known, or beyond kMostExactTries.
//
// The worst case is P(1) = (difference + gain) / 2 and
// P(-1) = (difference - gain) / 2. Among those of one mean, taking probability
// t from zero and giving half to either side changes the tail by N t / 2 (P[S'
// = s - 1] - P[S' = s]) to the first order, where S' has one point less. Its
// terms are log-concave (up + down <= 2/3 makes those of one point so, and sums
// keep it), hence fall beyond their mode, which lies within sqrt(3) standard
// deviations of the mean (Johnson and Rogers, 1951) and one step: s - 1 is
// beyond wherever tolerance * N >= sqrt(3 N difference) + 3, which is asked
// for. Those of a smaller mean, or with less up and more down, are below by
// coupling.
std::optional<std::int64_t> tries_for_gain(double gain, double tolerance,
                                           double difference,
                                           double log_probability);

}  // namespace weft
