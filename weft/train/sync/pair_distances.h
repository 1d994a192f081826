// Squared distances between all pairs of n contributions: |x|² + |y|² - 2 xy of
// one matrix of products, tile by tile, so that each value is read from memory
// once and not n times. Where that loses too many digits, as the two are
// close, the pair is computed from its differences.
//
// Sums are in f64 over tiles of a fixed size, in their order: the same bits by
// any number of threads.
//
// Threads: pure functions.
#pragma once

#include <limits>
#include <span>

#include "weft/train/sync/aggregation_rule.h"

namespace weft {

constexpr std::size_t pairs_of(std::size_t count) {
  return count * (count - 1) / 2;
}
// The place of pair (a, b), a != b, among them.
constexpr std::size_t pair_index(std::size_t a, std::size_t b) {
  return a < b ? pairs_of(b) + a : pairs_of(a) + b;
}

// distances[pair_index(a, b)] += |x_a - x_b|², where a and b are places in
// `arrived`: infinity where that is no number. Relative errors are below 1 %
// in the worst case, and about 1e-6. Cost: n² / 2 multiplications an entry.
void add_pair_distances(std::span<const Contribution> arrived,
                        std::span<double> distances);

// The same of one pair, from its differences in f64; it stops where the sum is
// above `enough`, which then says no more than that.
double squared_distance(
    std::span<const float> a, std::span<const float> b,
    double enough = std::numeric_limits<double>::infinity());

}  // namespace weft
