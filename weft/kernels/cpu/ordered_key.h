// Elements as integers that compare like them.
//
// Every NaN maps to the same largest value, and -0 to +0, as the references
// order them.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/tensor/dtype.h"

namespace weft {

constexpr std::uint32_t kSignBit = 0x80000000u;

inline std::uint32_t ordered(float value) {
  if (value != value) return ~std::uint32_t{0};
  // Adding zero makes +0 of -0 and changes nothing else.
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  // Floats are magnitudes with a sign: those of negative ones count backwards,
  // and the positive ones stand above them.
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
inline std::uint32_t ordered(bfloat16 value) {
  return ordered(static_cast<float>(value));
}
inline std::uint32_t ordered(std::int32_t value) {
  // Turning the sign bit puts the negative ones below.
  return static_cast<std::uint32_t>(value) ^ kSignBit;
}

// An element and its position as one key, the position below the value: so a
// plain sort of integers is a stable sort of the elements. Descending order
// keeps lower positions first, so only the value is turned.
template <class T>
std::uint64_t key_of(T value, std::int64_t position, bool descending) {
  const std::uint32_t order = ordered(value);
  return std::uint64_t{descending ? ~order : order} << 32 |
         static_cast<std::uint32_t>(position);
}

}  // namespace weft
