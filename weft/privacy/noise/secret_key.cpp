#include "weft/privacy/noise/secret_key.h"

#include <cstring>
#include <fstream>
#include <sodium.h>

#include "weft/base/error.h"
#include "weft/base/secret_file.h"

namespace weft {
namespace {

void fill_bytes(std::span<std::byte> bytes, const SecretKey& key,
                std::uint64_t stream) {
  static_assert(crypto_stream_chacha20_NONCEBYTES == sizeof stream);
  static_assert(crypto_stream_chacha20_KEYBYTES == sizeof key.bytes);
  std::array<unsigned char, sizeof stream> nonce;
  std::memcpy(nonce.data(), &stream, sizeof stream);
  crypto_stream_chacha20(reinterpret_cast<unsigned char*>(bytes.data()),
                         bytes.size(), nonce.data(), key.bytes.data());
}

}  // namespace

SecretKey drawn_key() {
  if (sodium_init() < 0) {
    throw Error(ErrorCode::kUnavailable, "key", "libsodium does not start");
  }
  SecretKey key;
  randombytes_buf(key.bytes.data(), key.bytes.size());
  return key;
}

void write_key(const std::filesystem::path& path, const SecretKey& key) {
  write_secret(path, {reinterpret_cast<const char*>(key.bytes.data()),
                      key.bytes.size()});
}

std::optional<SecretKey> read_key(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  check_secret(path);
  SecretKey key;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(key.bytes.data()),
            static_cast<std::streamsize>(key.bytes.size()));
  if (file.gcount() != static_cast<std::streamsize>(key.bytes.size()) ||
      file.peek() != EOF) {
    throw Error(ErrorCode::kDataLoss, path.string(), "is no key");
  }
  return key;
}

void fill_words(std::span<std::uint32_t> words, const SecretKey& key,
                std::uint64_t stream) {
  fill_bytes(std::as_writable_bytes(words), key, stream);
}
void fill_words(std::span<std::uint64_t> words, const SecretKey& key,
                std::uint64_t stream) {
  fill_bytes(std::as_writable_bytes(words), key, stream);
}

}  // namespace weft
