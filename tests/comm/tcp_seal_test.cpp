#include <cstring>
#include <gtest/gtest.h>
#include <sodium.h>
#include <vector>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/seal.h"

namespace weft::tcp_seal_test {
namespace {

using tcp::kSealBytes;
using tcp::Opener;
using tcp::Sealer;

constexpr tcp::SealKey kKey = {1, 2, 3};
constexpr std::uint64_t kNumber = 0x0102030405060708;

Bytes some_bytes(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + 3);
  }
  return bytes;
}

Bytes sealed(Sealer& sealer, std::uint64_t number, const Bytes& shown,
             const Bytes& hidden, std::size_t piece) {
  Bytes out(hidden.size() + kSealBytes);
  sealer.begin(number);
  if (!shown.empty()) sealer.show(shown);
  for (std::size_t at = 0; at < hidden.size(); at += piece) {
    const std::size_t count = std::min(piece, hidden.size() - at);
    sealer.hide(std::span(hidden).subspan(at, count), out.data() + at);
  }
  sealer.end(out.data() + hidden.size());
  return out;
}

// Another implementation of RFC 8439 makes the same of it, whatever the pieces.
TEST(Seal, IsChaCha20Poly1305) {
  ASSERT_GE(sodium_init(), 0);
  std::array<unsigned char, 12> nonce = {};
  std::memcpy(nonce.data() + 4, &kNumber, sizeof(kNumber));
  Sealer sealer(kKey);
  for (const std::size_t shown_bytes : {0, 12}) {
    for (const std::size_t size : {0, 1, 63, 64, 65, 1000, 70'000}) {
      const Bytes shown = some_bytes(shown_bytes);
      const Bytes hidden = some_bytes(size);
      std::vector<unsigned char> expected(size + kSealBytes);
      crypto_aead_chacha20poly1305_ietf_encrypt(
          expected.data(), nullptr,
          reinterpret_cast<const unsigned char*>(hidden.data()), size,
          reinterpret_cast<const unsigned char*>(shown.data()), shown.size(),
          nullptr, nonce.data(), kKey.data());
      for (const std::size_t piece : {17, 1000, 100'000}) {
        const Bytes found = sealed(sealer, kNumber, shown, hidden, piece);
        ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0)
            << size << " bytes in pieces of " << piece;
      }
    }
  }
}

TEST(Seal, OpensOnlyWhatItWas) {
  Sealer sealer(kKey);
  Opener opener(kKey);
  const Bytes shown = some_bytes(12);
  const Bytes hidden = some_bytes(100);
  const Bytes whole = sealed(sealer, 5, shown, hidden, 33);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes changed = whole;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(opener.open(5, shown, changed)) << i;
  }
  Bytes other_shown = shown;
  other_shown[3] ^= std::byte{1};
  Bytes copy = whole;
  EXPECT_FALSE(opener.open(5, other_shown, copy));
  copy = whole;
  EXPECT_FALSE(opener.open(6, shown, copy)) << "has another number";
  copy = whole;
  EXPECT_FALSE(Opener(tcp::SealKey{9}).open(5, shown, copy));
  copy = whole;
  ASSERT_TRUE(opener.open(5, shown, copy)) << "a forgery has broken it";
  copy.resize(hidden.size());
  EXPECT_EQ(copy, hidden);
}

}  // namespace
}  // namespace weft::tcp_seal_test
