// Decimal numbers with nine digits behind the point, held exactly: what a
// condition says of shares of points is then decided without rounding.
//
// Threads: a value type and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct Decimal {
  std::int64_t billionths = 0;

  double value() const { return static_cast<double>(billionths) / 1e9; }
  bool is_zero() const { return billionths == 0; }
  Decimal operator-() const { return {-billionths}; }

  auto operator<=>(const Decimal&) const = default;
};

inline constexpr int kDecimalDigits = 9;
inline constexpr std::int64_t kBillionthsOfOne = 1'000'000'000;

// Numbers of conditions, and what comes up between them, are no larger.
inline constexpr Decimal kMostDecimal{1000 * kBillionthsOfOne};

// Nothing where the result is larger than kMostDecimal or has more digits.
std::optional<Decimal> add(Decimal a, Decimal b);
std::optional<Decimal> multiply(Decimal a, Decimal b);

// "0.02", ".5", "12", without a sign; nothing for another text, for more digits
// than are held, and for what is too large.
std::optional<Decimal> parse_decimal(std::string_view text);
// The shortest text that reads back as the same, behind its sign.
std::string to_string(Decimal decimal);

}  // namespace weft
