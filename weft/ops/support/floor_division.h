// Division whose quotient is rounded down, as in Python and NumPy.
#pragma once

#include <cmath>
#include <cstdint>

namespace weft {

template <class Number>
struct FloorDivision {
  Number quotient;
  Number remainder;  // of the divisor's sign
};

// The steps are NumPy's, which decide what infinities and zeros give.
inline FloorDivision<double> floor_division(double a, double b) {
  double remainder = std::fmod(a, b);
  if (b == 0) return {a / b, remainder};
  double quotient = (a - remainder) / b;  // an integer, up to rounding
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((remainder < 0) != (b < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  return {std::nearbyint(quotient), remainder};
}

inline FloorDivision<std::int64_t> floor_division(std::int64_t a,
                                                  std::int64_t b) {
  if (b == 0) return {0, 0};
  // The smallest integer has no negative, and the processor would trap.
  if (b == -1) {
    return {static_cast<std::int64_t>(-static_cast<std::uint64_t>(a)), 0};
  }
  FloorDivision<std::int64_t> result{a / b, a % b};
  if (result.remainder != 0 && (result.remainder < 0) != (b < 0)) {
    result.remainder += b;
    --result.quotient;
  }
  return result;
}

}  // namespace weft
