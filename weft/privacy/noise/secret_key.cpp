#include "weft/privacy/noise/secret_key.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/error.h"

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
  const auto fail = [&](int reason) {
    throw Error(ErrorCode::kUnavailable, path.string(),
                "a key cannot be kept here: {}", std::strerror(reason));
  };
  // Nobody else can have opened a file that was never another's.
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(errno);
  const ssize_t written = ::write(file, key.bytes.data(), key.bytes.size());
  const bool is_whole =
      written == static_cast<ssize_t>(key.bytes.size()) && ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  if (!is_whole) {
    ::unlink(path.c_str());
    fail(reason);
  }
}

std::optional<SecretKey> read_key(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if ((status.st_mode & 077) != 0) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "others may read this key, so that it keeps nothing secret")
        .hint("chmod 600, and do not rely on what was made with it");
  }
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
