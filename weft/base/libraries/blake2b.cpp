#include "weft/base/libraries/blake2b.h"

#include <array>
#include <sodium.h>

namespace weft {

std::string blake2b(ByteSpan bytes) {
  std::array<unsigned char, 32> digest{};
  crypto_generichash(digest.data(), digest.size(), bytes.data(), bytes.size(),
                     /*key=*/nullptr, 0);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace weft
