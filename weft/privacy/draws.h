// Random numbers of a simulation, one after the other (base/philox.h).
//
// Threads: caller synchronises.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

#include "weft/base/philox.h"

namespace weft::privacy {

// A normal density, in terms of that of its mean; all is there for no
// deviation.
inline double normal_weight(double away, double deviation) {
  if (deviation == 0) return away == 0 ? 1 : 0;
  return std::exp(-away * away / (2 * deviation * deviation));
}

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t stream)
      : words_{.seed = seed, .stream = stream} {}

  // (0, 1), with 53 bits.
  double uniform() {
    const std::uint64_t high = words_.word(next_++);
    const std::uint64_t low = words_.word(next_++);
    const std::uint64_t bits = (high << 32 | low) >> 11;
    return (static_cast<double>(bits) + 0.5) * 0x1p-53;
  }
  // Box and Muller, 1958.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // From 0 to count - 1.
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  }
  // A number of a weight, with a chance in proportion to it.
  std::size_t by_weight(std::span<const double> weights) {
    double total = 0;
    for (const double weight : weights) total += weight;
    double left = uniform() * total;
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
      left -= weights[i];
      if (left < 0) return i;
    }
    return weights.size() - 1;
  }

 private:
  RandomStream words_;
  std::uint64_t next_ = 0;
};

}  // namespace weft::privacy
