#include "weft/base/checksum.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);

// Each step can be undone, so that another word leaves another sum. The product
// carries bits upwards, and the shift brings them down again.
std::uint64_t with(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
  return sum ^ sum >> 32;
}

std::uint64_t word_at(const std::uint8_t* place, std::ptrdiff_t bytes = kWord) {
  std::uint64_t word = 0;
  std::memcpy(&word, place, static_cast<std::size_t>(bytes));
  return word;
}

}  // namespace

std::uint64_t checksum(ByteSpan bytes) {
  // Four sums, since each waits for its own product: a processor works at all
  // of them at once.
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  const std::uint8_t* place = bytes.data();
  const std::uint8_t* const end = place + bytes.size();
  for (; end - place >= 4 * kWord; place += 4 * kWord) {
    a = with(a, word_at(place));
    b = with(b, word_at(place + kWord));
    c = with(c, word_at(place + 2 * kWord));
    d = with(d, word_at(place + 3 * kWord));
  }
  while (place < end) {
    const std::ptrdiff_t rest = std::min(kWord, end - place);
    a = with(a, word_at(place, rest));
    place += rest;
  }
  // Zeros that fill up the last word must not look like bytes.
  return with(with(with(with(bytes.size(), a), b), c), d);
}

}  // namespace weft
