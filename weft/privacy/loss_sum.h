// Sums of independent losses on one grid, from above: no mass of the result is
// below the exact one.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::privacy {

// As many independent losses as `times` says; masses[i] is at lowest + i.
struct LossTerm {
  std::span<const double> masses;
  std::int64_t lowest = 0;
  std::int64_t times = 1;
};

// Where the sum lies, but for `outside` of its mass.
struct LossWindow {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  double outside = 0;

  std::size_t points() const {
    return static_cast<std::size_t>(highest - lowest + 1);
  }
};

// At most 1e-15 is outside, by Chernoff's bound.
LossWindow loss_window(std::span<const LossTerm> terms);

// The masses of the sum at all points of the window. They are computed twice,
// as they are and tilted by e^(tilt loss), which has its smallest errors where
// the losses are large and rare; each point takes the lower of two upper
// bounds.
std::vector<double> loss_sum(std::span<const LossTerm> terms,
                             const LossWindow& window);

}  // namespace weft::privacy
