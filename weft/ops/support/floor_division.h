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

// The quotient without its fraction, 0 for b = 0, without a branch: of it the
// compiler makes vectors. Double is exact here, since a quotient of 32 bits
// that is no integer is at least 2^-31 away from one.
inline std::int32_t truncated_division(std::int32_t a, std::int32_t b) {
  // The smallest integer has no negative; wrapping around, it is its own.
  const auto negative =
      static_cast<std::int32_t>(-static_cast<std::uint32_t>(a));
  const std::int32_t safe = b == 0 || b == -1 ? 1 : b;
  const auto quotient = static_cast<std::int32_t>(static_cast<double>(a) /
                                                  static_cast<double>(safe));
  return b == 0 ? 0 : b == -1 ? negative : quotient;
}

inline FloorDivision<std::int32_t> floor_division(std::int32_t a,
                                                  std::int32_t b) {
  const std::int32_t quotient = truncated_division(a, b);
  const auto product =
      static_cast<std::uint32_t>(quotient) * static_cast<std::uint32_t>(b);
  const auto remainder =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - product);
  const bool is_over = remainder != 0 && (remainder < 0) != (b < 0);
  return {b == 0 ? 0 : quotient - (is_over ? 1 : 0),
          b == 0 ? 0 : remainder + (is_over ? b : 0)};
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
