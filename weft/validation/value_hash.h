// The hashes by which values are told apart. They are in a header because each
// value has one.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::validation {
namespace detail {

template <class Word>
std::uint64_t load(const char* place) {
  Word word;
  std::memcpy(&word, place, sizeof(word));
  return word;
}

// Both halves of the product, so that all bits of both factors count.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  // GCC and Clang have the type on all 64-bit machines.
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64);
}

inline constexpr std::uint64_t kOdd0 = 0xa0761d6478bd642f;
inline constexpr std::uint64_t kOdd1 = 0xe7037ed1a0b428db;
inline constexpr std::uint64_t kOdd2 = 0x8ebc6af09c88c6e3;

}  // namespace detail

// A hash that is the same on all machines and in all builds, as states are sent
// and kept. It is no digest: whoever may choose the texts can make two agree.
inline std::uint64_t hash_text(std::string_view text, bool is_string) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = detail::mix(
      detail::kOdd0 ^ left, detail::kOdd1 ^ (is_string ? detail::kOdd2 : 0));
  for (; left > 16; left -= 16, at += 16) {
    hash = detail::mix(detail::load<std::uint64_t>(at) ^ detail::kOdd1,
                       detail::load<std::uint64_t>(at + 8) ^ hash);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  // Words that overlap cover every length without a loop over bytes.
  if (left >= 8) {
    low = detail::load<std::uint64_t>(at);
    high = detail::load<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    low = detail::load<std::uint32_t>(at);
    high = detail::load<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    low = detail::load<std::uint8_t>(at) << 16 |
          detail::load<std::uint8_t>(at + left / 2) << 8 |
          detail::load<std::uint8_t>(at + left - 1);
  }
  hash = detail::mix(low ^ detail::kOdd2, high ^ hash);
  hash = detail::mix(hash ^ detail::kOdd0, detail::kOdd1);
  // Tables keep 0 for an empty slot.
  return hash == 0 ? 1 : hash;
}

}  // namespace weft::validation
