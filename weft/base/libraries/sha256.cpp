#include "weft/base/libraries/sha256.h"

#include <array>
#include <sodium.h>

namespace weft {

std::string sha256(ByteSpan bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), bytes.data(), bytes.size());
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  // The file is mapped, so that hashing takes no memory of its size.
  return sha256(MappedFile(path).bytes());
}

}  // namespace weft
