// Sums that a rule keeps of each worker's gradients over the steps, in f64.
//
// Sums over entries are made in pieces of a fixed size, in their order: the
// same bits by any number of threads.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <span>

namespace weft {

// Entries that are looked at while they are in a cache.
inline constexpr std::size_t kSumPiece = 4096;

// sum += gradient; returns the inner product of `gradient` and `moved`. Where
// that is no number, nothing is added. All are of one length.
double add_gradient(std::span<const float> gradient,
                    std::span<const double> moved, std::span<double> sum);

// |a - b|² of vectors of f64.
double squared_distance(std::span<const double> a, std::span<const double> b);

}  // namespace weft
