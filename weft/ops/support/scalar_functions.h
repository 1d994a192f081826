// What elementwise ops make of numbers: of double, and of integers of 32 or 64
// bits. References are these; so are the loops over what f32 does not hold
// (kernels/loop/wide_tiles.cpp).
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "weft/ops/support/floor_division.h"

namespace weft {

// Integers wrap around, which C++ grants only to unsigned ones.
template <class Number, class Function>
Number wrapping(Number a, Number b, Function&& function) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(
        function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return function(a, b);
  }
}

inline constexpr auto kAdd = [](auto a, auto b) {
  return wrapping(a, b, [](auto p, auto q) { return p + q; });
};
inline constexpr auto kSubtract = [](auto a, auto b) {
  return wrapping(a, b, [](auto p, auto q) { return p - q; });
};
inline constexpr auto kMultiply = [](auto a, auto b) {
  return wrapping(a, b, [](auto p, auto q) { return p * q; });
};

// Integer division truncates; by zero it gives 0, since a kernel cannot
// throw and must not trap.
inline constexpr auto kDivide = []<class Number>(Number a, Number b) -> Number {
  if constexpr (std::is_integral_v<Number>) {
    if constexpr (sizeof(Number) == sizeof(std::int32_t)) {
      return truncated_division(a, b);
    }
    if (b == 0) return 0;
    if (b == -1) return kSubtract(Number{0}, a);  // the minimum has no negative
  }
  return a / b;
};

// NaN wins on either side, as in NumPy.
inline constexpr auto kMaximum = [](auto a, auto b) {
  return a > b || a != a ? a : b;
};
inline constexpr auto kMinimum = [](auto a, auto b) {
  return a < b || a != a ? a : b;
};

// A negative integer exponent gives the truncated quotient: 0, or ±1.
inline constexpr auto kPower = []<class Number>(Number a, Number b) -> Number {
  if constexpr (std::is_integral_v<Number>) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    Number result = 1;
    // The power is taken by repeated squaring, as an exponent may be any 64-bit
    // number.
    for (; b > 0; b /= 2) {
      if (b % 2 == 1) result = kMultiply(result, a);
      a = kMultiply(a, a);
    }
    return result;
  } else {
    return std::pow(a, b);
  }
};

// What floor_division() takes.
template <class Number>
auto widest(Number x) {
  if constexpr (std::is_same_v<Number, std::int32_t>) {
    return x;
  } else if constexpr (std::is_integral_v<Number>) {
    return static_cast<std::int64_t>(x);
  } else {
    return static_cast<double>(x);
  }
}
inline constexpr auto kFloorDivide = []<class Number>(Number a, Number b) {
  return static_cast<Number>(floor_division(widest(a), widest(b)).quotient);
};
inline constexpr auto kRemainder = []<class Number>(Number a, Number b) {
  return static_cast<Number>(floor_division(widest(a), widest(b)).remainder);
};

// Integers wrap around: the minimum is its own negative and absolute value.
inline constexpr auto kNegate = []<class Number>(Number x) -> Number {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(-static_cast<std::uint64_t>(x));
  } else {
    return -x;
  }
};
inline constexpr auto kSquare = [](auto x) { return kMultiply(x, x); };

// The sign bit goes too: |-0| is +0.
inline constexpr auto kAbs = []<class Number>(Number x) -> Number {
  if constexpr (std::is_integral_v<Number>) {
    return x < 0 ? kNegate(x) : x;
  } else {
    return std::fabs(x);
  }
};

// +0 for both zeros, as in NumPy.
inline constexpr auto kSign = []<class Number>(Number x) -> Number {
  return x != x ? x : static_cast<Number>((x > 0) - (x < 0));
};
inline constexpr auto kRelu = []<class Number>(Number x) -> Number {
  return x < 0 ? Number{0} : x;
};

// The nearest representable number; NaN becomes 0 in an integer.
template <class T>
T saturate(double value) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(Limits::min())) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(value);
}

// Functions of double keep a NaN, as C's do.
inline constexpr auto kExp = [](double x) { return std::exp(x); };
inline constexpr auto kExpm1 = [](double x) { return std::expm1(x); };
inline constexpr auto kLog = [](double x) { return std::log(x); };
inline constexpr auto kLog1p = [](double x) { return std::log1p(x); };
inline constexpr auto kSqrt = [](double x) { return std::sqrt(x); };
inline constexpr auto kRsqrt = [](double x) { return 1 / std::sqrt(x); };
inline constexpr auto kTanh = [](double x) { return std::tanh(x); };
inline constexpr auto kErf = [](double x) { return std::erf(x); };
inline constexpr auto kFloor = [](double x) { return std::floor(x); };
inline constexpr auto kCeil = [](double x) { return std::ceil(x); };
inline constexpr auto kRound = [](double x) { return std::nearbyint(x); };
inline constexpr auto kSin = [](double x) { return std::sin(x); };
inline constexpr auto kCos = [](double x) { return std::cos(x); };
inline constexpr auto kTan = [](double x) { return std::tan(x); };
inline constexpr auto kAsin = [](double x) { return std::asin(x); };
inline constexpr auto kAcos = [](double x) { return std::acos(x); };
inline constexpr auto kAtan = [](double x) { return std::atan(x); };
inline constexpr auto kAsinh = [](double x) { return std::asinh(x); };
inline constexpr auto kAcosh = [](double x) { return std::acosh(x); };
inline constexpr auto kAtanh = [](double x) { return std::atanh(x); };
inline constexpr auto kAtan2 = [](auto a, auto b) {
  return std::atan2(static_cast<double>(a), static_cast<double>(b));
};
// exp never sees a positive argument, so it cannot overflow.
inline constexpr auto kSigmoid = [](double x) {
  const double e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
};
inline constexpr auto kGelu = [](double x) {
  return 0.5 * x * std::erfc(-x * (std::numbers::sqrt2 / 2));
};

inline constexpr auto kIsFinite = [](auto x) { return x - x == 0; };
inline constexpr auto kIsNan = [](auto x) { return x != x; };

inline constexpr auto kBitwiseAnd =
    []<std::integral Number>(Number a, Number b) -> Number { return a & b; };
inline constexpr auto kBitwiseOr =
    []<std::integral Number>(Number a, Number b) -> Number { return a | b; };
inline constexpr auto kBitwiseXor =
    []<std::integral Number>(Number a, Number b) -> Number { return a ^ b; };

// They shift numbers of `width` bits. A shift by as many or more, or by a
// negative number, moves every bit out.
inline constexpr auto kShiftLeft =
    []<std::integral Number>(Number a, Number by, Number width) -> Number {
  if (by < 0 || by >= width) return 0;
  return static_cast<Number>(static_cast<std::make_unsigned_t<Number>>(a)
                             << by);
};
inline constexpr auto kShiftRight =
    []<std::integral Number>(Number a, Number by, Number width) -> Number {
  if (by < 0 || by >= width) return a < 0 ? -1 : 0;
  return a >> by;
};

}  // namespace weft
