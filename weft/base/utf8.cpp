#include "weft/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace weft {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) -> unsigned {
      return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0u;
    };
    const unsigned first = byte(i);
    const std::size_t more = first < 0x80   ? 0
                             : first < 0xc2 ? 4  // none begins so
                             : first < 0xe0 ? 1
                             : first < 0xf0 ? 2
                             : first < 0xf5 ? 3
                                            : 4;
    if (more == 4) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    // Longer than needed, halves of pairs, or beyond the last character.
    const unsigned second = byte(i + 1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

}  // namespace weft
