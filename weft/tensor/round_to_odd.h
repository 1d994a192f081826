// Doubles on their way to halves: rounded to the nearest f32 first, one that
// lies just beside the middle of two halves would come to lie in it.
//
// Threads: pure functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace weft {

// The f32 beside x whose last bit is set, unless x is an f32 itself. It rounds
// to f16 and bf16 as x does (Boldo and Melquiond, "Emulation of a FMA and
// correctly rounded sums: proved algorithms using rounding to odd", 2008). NaN
// stays NaN.
inline float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const double back = nearest;
  auto word = std::bit_cast<std::uint32_t>(nearest);
  // Magnitudes that are next to each other are so as numbers, too.
  if (std::abs(back) > std::abs(x)) --word;
  if (back != x) word |= 1;
  return std::bit_cast<float>(word);
}

}  // namespace weft
