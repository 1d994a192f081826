#include "weft/gate/decimal.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>

namespace weft {
namespace {

__extension__ typedef __int128 WideDecimal;

std::optional<Decimal> within_bounds(WideDecimal billionths) {
  if (billionths > kMostDecimal.billionths ||
      billionths < -kMostDecimal.billionths) {
    return std::nullopt;
  }
  return Decimal{static_cast<std::int64_t>(billionths)};
}

}  // namespace

std::optional<Decimal> add(Decimal a, Decimal b) {
  return within_bounds(WideDecimal{a.billionths} + b.billionths);
}

std::optional<Decimal> multiply(Decimal a, Decimal b) {
  const WideDecimal product = WideDecimal{a.billionths} * b.billionths;
  if (product % kBillionthsOfOne != 0) return std::nullopt;
  return within_bounds(product / kBillionthsOfOne);
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  WideDecimal billionths = 0;
  int digits_behind = -1;  // -1: the point has not come yet
  bool has_digit = false;
  for (const char c : text) {
    if (c == '.' && digits_behind < 0) {
      digits_behind = 0;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    has_digit = true;
    if (digits_behind >= 0) ++digits_behind;
    if (digits_behind > kDecimalDigits) return std::nullopt;
    billionths = 10 * billionths + (c - '0');
    if (billionths > WideDecimal{kBillionthsOfOne} * kBillionthsOfOne) {
      return std::nullopt;
    }
  }
  if (!has_digit) return std::nullopt;
  for (int i = std::max(digits_behind, 0); i < kDecimalDigits; ++i) {
    billionths *= 10;
  }
  return within_bounds(billionths);
}

std::string to_string(Decimal decimal) {
  // No decimal is so small that it could not be negated.
  const std::int64_t size = std::abs(decimal.billionths);
  std::string text =
      fmt::format("{}{}.{:09}", decimal.billionths < 0 ? "-" : "",
                  size / kBillionthsOfOne, size % kBillionthsOfOne);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace weft
