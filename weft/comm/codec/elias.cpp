#include "weft/comm/codec/elias.h"

#include <array>

namespace weft {
namespace {

struct Code {
  std::uint64_t word = 0;  // first bit lowest
  int bits = 1;
};

constexpr Code code_of(std::uint32_t k) {
  Code code;
  while (k > 1) {
    const int digits = bits_for(k);
    // The omega code puts each group before those it already has; the reader
    // begins with the lowest bit, so groups are reversed.
    code.word = (code.word << digits) | reversed(k, digits);
    code.bits += digits;
    k = static_cast<std::uint32_t>(digits - 1);
  }
  return code;
}

// Those that quantizers need, ready.
constexpr std::size_t kReady = 513;
constexpr auto kCodes = [] {
  std::array<Code, kReady> codes;
  for (std::uint32_t k = 1; k < kReady; ++k) codes[k] = code_of(k);
  return codes;
}();

}  // namespace

void put_elias(BitWriter& out, std::uint32_t k) {
  WEFT_CHECK(k >= 1 && k <= kMostElias);
  const Code code = k < kReady ? kCodes[k] : code_of(k);
  const int low = std::min(code.bits, 32);
  out.put(static_cast<std::uint32_t>(code.word), low);
  if (low < code.bits) {
    out.put(static_cast<std::uint32_t>(code.word >> 32), code.bits - low);
  }
}

std::uint32_t get_elias(BitReader& in) {
  std::uint32_t k = 1;
  while (in.get(1) != 0) {
    // The next group would have more digits than a number has bits.
    if (k > 30) throw in.damaged("has a number that is too large");
    const auto digits = static_cast<int>(k);
    k = (1u << digits) | reversed(in.get(digits), digits);
  }
  return k;
}

}  // namespace weft
