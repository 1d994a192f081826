// Codes of one to eight bits, eight at a time: the format of bit_pack.h for
// small integers that stand in bytes, at the speed of quantizers.
//
// Threads: pure functions.
// Cost:    about one operation a code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "weft/comm/codec/bit_pack.h"

namespace weft {
namespace detail {

// Eight codes, one a byte, moved together: bytes to pairs, pairs to fours,
// fours to one word of 8 * bits.
constexpr std::uint64_t gather_codes(std::uint64_t codes, int bits) {
  const int gap = 8 - bits;
  codes =
      (codes & 0x00FF00FF00FF00FFu) | ((codes & 0xFF00FF00FF00FF00u) >> gap);
  codes = (codes & 0x0000FFFF0000FFFFu) |
          ((codes & 0xFFFF0000FFFF0000u) >> (2 * gap));
  return (codes & 0x00000000FFFFFFFFu) |
         ((codes & 0xFFFFFFFF00000000u) >> (4 * gap));
}

// The way back.
constexpr std::uint64_t spread_codes(std::uint64_t word, int bits) {
  const int gap = 8 - bits;
  const std::uint64_t one = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t two = (one << bits) | one;
  const std::uint64_t four = (two << (2 * bits)) | two;
  word = (word & four) | ((word & (four << (4 * bits - 1) << 1)) << (4 * gap));
  word = (word & (two | two << 32)) |
         ((word & ((two | two << 32) << (2 * bits))) << (2 * gap));
  const std::uint64_t ones = one | one << 16 | one << 32 | one << 48;
  return (word & ones) | ((word & (ones << bits)) << gap);
}

}  // namespace detail

// Writes packed_bytes(codes.size(), bits) bytes to `packed`. 1 <= bits <= 8;
// codes are below 2^bits.
inline void pack_codes(std::span<const std::uint8_t> codes, int bits,
                       std::byte* packed) {
  const auto step = static_cast<std::size_t>(bits);
  for (; codes.size() >= 8; codes = codes.subspan(8), packed += step) {
    std::uint64_t word;
    std::memcpy(&word, codes.data(), 8);
    word = detail::gather_codes(word, bits);
    std::memcpy(packed, &word, step);
  }
  if (codes.empty()) return;
  std::uint64_t word = 0;
  std::memcpy(&word, codes.data(), codes.size());
  word = detail::gather_codes(word, bits);
  std::memcpy(packed, &word, packed_bytes(codes.size(), bits));
}

// Fills `codes` from packed_bytes(codes.size(), bits) bytes.
inline void unpack_codes(const std::byte* packed, int bits,
                         std::span<std::uint8_t> codes) {
  const auto step = static_cast<std::size_t>(bits);
  for (; codes.size() >= 8; codes = codes.subspan(8), packed += step) {
    std::uint64_t word = 0;
    std::memcpy(&word, packed, step);
    word = detail::spread_codes(word, bits);
    std::memcpy(codes.data(), &word, 8);
  }
  if (codes.empty()) return;
  std::uint64_t word = 0;
  std::memcpy(&word, packed, packed_bytes(codes.size(), bits));
  word = detail::spread_codes(word, bits);
  std::memcpy(codes.data(), &word, codes.size());
}

}  // namespace weft
