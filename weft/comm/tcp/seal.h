// Seals: bytes that only who has the key can read, and nobody can change
// without that being noticed (ChaCha20-Poly1305 of RFC 8439, as OpenSSL has it,
// which takes vectors of this processor).
//
// A key belongs to one direction of one connection, and no two things may be
// sealed under it with the same number, which is the nonce.
//
// All calls throw Error(kUnavailable) where OpenSSL has no such cipher. They
// allocate nothing but in constructors.
//
// Threads: one for each object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/evp.h>
#include <span>

namespace weft::tcp {

using SealKey = std::array<unsigned char, 32>;

inline constexpr std::size_t kSealBytes = 16;

struct CipherDeleter {
  void operator()(EVP_CIPHER_CTX* context) const {
    EVP_CIPHER_CTX_free(context);  // and forgets the key
  }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter>;

// Seals one thing piece by piece: begin(), what is read and not hidden, what is
// hidden, end().
class Sealer {
 public:
  explicit Sealer(const SealKey& key);

  void begin(std::uint64_t number);
  void show(std::span<const std::byte> bytes);
  // Writes as many bytes to `out`, which may be where they are.
  void hide(std::span<const std::byte> bytes, std::byte* out);
  // Writes kSealBytes.
  void end(std::byte* seal);

 private:
  Cipher cipher_;
};

class Opener {
 public:
  explicit Opener(const SealKey& key);

  // Opens what was sealed under `number`, in place; the seal is the last
  // kSealBytes of `sealed`, which has as many at least. False where anything is
  // not as it was sealed: then what stands there means nothing.
  bool open(std::uint64_t number, std::span<const std::byte> shown,
            std::span<std::byte> sealed);

 private:
  Cipher cipher_;
};

}  // namespace weft::tcp
