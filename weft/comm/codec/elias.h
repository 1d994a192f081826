// Elias's omega code of the positive integers (P. Elias, "Universal codeword
// sets and representations of the integers", 1975): start with "0"; while
// k > 1, put the binary digits of k in front and go on with their number less
// one. 1 is 0, 2 is 100, 3 is 110, 4 is 101000, 8 is 1110000.
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "weft/comm/codec/bit_pack.h"

namespace weft {

// The longest code, of 2^31 - 1 and the integers of as many digits.
inline constexpr std::uint32_t kMostElias = 0x7fffffff;

// Length of the code of k >= 1, in bits.
constexpr int elias_bits(std::uint32_t k) {
  int bits = 1;
  while (k > 1) {
    const int digits = bits_for(k);
    bits += digits;
    k = static_cast<std::uint32_t>(digits - 1);
  }
  return bits;
}

// 1 <= k <= kMostElias. Digits travel highest first, as the code is defined.
void put_elias(BitWriter& out, std::uint32_t k);
// Throws Error(kDataLoss) for a code above kMostElias.
std::uint32_t get_elias(BitReader& in);

}  // namespace weft
