#include "weft/comm/tcp/seal.h"

#include <cstring>

#include "weft/base/error.h"
#include "weft/comm/tcp/raw_bytes.h"

namespace weft::tcp {
namespace {

using Nonce = std::array<unsigned char, 12>;

Nonce nonce_of(std::uint64_t number) {
  Nonce nonce = {};
  std::memcpy(nonce.data() + nonce.size() - sizeof(number), &number,
              sizeof(number));
  return nonce;
}

// Calls come in the order that the cipher wants, so that one fails only where
// this OpenSSL lacks it, or memory does.
void expect(int done) {
  if (done != 1) {
    throw Error(ErrorCode::kUnavailable, "tcp",
                "OpenSSL does not seal: is ChaCha20-Poly1305 switched off?");
  }
}

int size_of(std::span<const std::byte> bytes) {
  return static_cast<int>(bytes.size());
}

}  // namespace

Sealer::Sealer(const SealKey& key) : cipher_(EVP_CIPHER_CTX_new()) {
  expect(EVP_EncryptInit_ex(cipher_.get(), EVP_chacha20_poly1305(), nullptr,
                            key.data(), nullptr));
}

void Sealer::begin(std::uint64_t number) {
  expect(EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr,
                            nonce_of(number).data()));
}

void Sealer::show(std::span<const std::byte> bytes) {
  int written = 0;
  expect(EVP_EncryptUpdate(cipher_.get(), nullptr, &written, raw(bytes.data()),
                           size_of(bytes)));
}

void Sealer::hide(std::span<const std::byte> bytes, std::byte* out) {
  int written = 0;
  expect(EVP_EncryptUpdate(cipher_.get(), raw(out), &written, raw(bytes.data()),
                           size_of(bytes)));
}

void Sealer::end(std::byte* seal) {
  int written = 0;
  expect(EVP_EncryptFinal_ex(cipher_.get(), raw(seal), &written));
  expect(EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG,
                             static_cast<int>(kSealBytes), seal));
}

Opener::Opener(const SealKey& key) : cipher_(EVP_CIPHER_CTX_new()) {
  expect(EVP_DecryptInit_ex(cipher_.get(), EVP_chacha20_poly1305(), nullptr,
                            key.data(), nullptr));
}

bool Opener::open(std::uint64_t number, std::span<const std::byte> shown,
                  std::span<std::byte> sealed) {
  const auto hidden = sealed.first(sealed.size() - kSealBytes);
  int written = 0;
  expect(EVP_DecryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr,
                            nonce_of(number).data()));
  if (!shown.empty()) {
    expect(EVP_DecryptUpdate(cipher_.get(), nullptr, &written,
                             raw(shown.data()), size_of(shown)));
  }
  if (!hidden.empty()) {
    expect(EVP_DecryptUpdate(cipher_.get(), raw(hidden.data()), &written,
                             raw(hidden.data()), size_of(hidden)));
  }
  expect(EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_SET_TAG,
                             static_cast<int>(kSealBytes),
                             sealed.last(kSealBytes).data()));
  // Nothing is left to be written, but the seal is compared.
  unsigned char rest = 0;
  return EVP_DecryptFinal_ex(cipher_.get(), &rest, &written) == 1;
}

}  // namespace weft::tcp
