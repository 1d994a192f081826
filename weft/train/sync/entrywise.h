// What robust rules make of each entry of n contributions: sums, means of the
// middle of sorted values, of those that are closest to it, and of those that
// are finite. In sorted order what is not finite counts as the largest,
// +infinity, whatever it is.
//
// Which worker sent a value does not matter, so that of two values that are as
// far from the middle the smaller one counts as closer.
//
// Sums of means are rounded once. Cost: n log²(n) / 4 comparisons an entry, in
// all lanes of vectors and all threads; the same bits by any number of threads.
//
// Threads: pure functions.
#pragma once

#include <span>

#include "weft/train/sync/aggregation_rule.h"

namespace weft {

// Places of sorted values, [first, last).
struct Middle {
  std::size_t first = 0;
  std::size_t last = 0;
};

// The upper one, where there are two (Damaskinos et al., "AggregaThor", MLSys
// 2019).
inline Middle median_of(std::size_t count) {
  return {count / 2, count / 2 + 1};
}
// Without the `trim` smallest and the `trim` largest: 2 trim < count.
inline Middle trimmed(std::size_t count, std::size_t trim) {
  return {trim, count - trim};
}

// times * the mean of the values there, for each entry.
void mean_of_middle(std::span<const Contribution> arrived, Middle middle,
                    double times, std::span<float> result);

// times * the mean of the `kept` values that are closest to the mean of the
// middle, for each entry.
void mean_of_closest(std::span<const Contribution> arrived, Middle middle,
                     std::size_t kept, double times, std::span<float> result);

// times * the sum of all in their order, in f32: as workers' gradients are
// summed where no rule is.
void sum_of(std::span<const Contribution> chosen, double times,
            std::span<float> result);

// times * the mean of the values that are finite; 0 where none is.
void mean_of_finite(std::span<const Contribution> arrived, double times,
                    std::span<float> result);

}  // namespace weft
