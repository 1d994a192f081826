#include "weft/market/keys.h"

#include <sodium.h>

#include "weft/base/file.h"
#include "weft/base/secret_file.h"

namespace weft::market {
namespace {

std::string in_context(std::string_view context, std::string_view message) {
  std::string text;
  text.reserve(context.size() + 1 + message.size());
  text.append(context);
  text += '\n';
  text.append(message);
  return text;
}

const unsigned char* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Digest digest_of_bytes(std::string_view bytes) {
  Digest digest;
  crypto_generichash(digest.data(), digest.size(), unsigned_bytes(bytes),
                     bytes.size(), /*key=*/nullptr, 0);
  return digest;
}

SigningKey::SigningKey() {
  WEFT_CHECK(sodium_init() >= 0, "libsodium does not start");
  randombytes_buf(seed_.data(), seed_.size());
  derive();
}

SigningKey::SigningKey(std::span<const std::uint8_t, 32> seed) {
  WEFT_CHECK(sodium_init() >= 0, "libsodium does not start");
  std::copy(seed.begin(), seed.end(), seed_.begin());
  derive();
}

SigningKey::~SigningKey() {
  sodium_memzero(seed_.data(), seed_.size());
  sodium_memzero(secret_.data(), secret_.size());
}

void SigningKey::derive() {
  crypto_sign_seed_keypair(public_.data(), secret_.data(), seed_.data());
}

Signature SigningKey::sign(std::string_view context,
                           std::string_view message) const {
  const std::string text = in_context(context, message);
  Signature signature;
  crypto_sign_detached(signature.data(), /*siglen_p=*/nullptr,
                       unsigned_bytes(text), text.size(), secret_.data());
  return signature;
}

void SigningKey::channel_keys(std::span<std::uint8_t, 32> secret,
                              std::span<std::uint8_t, 32> open) const {
  crypto_sign_ed25519_sk_to_curve25519(secret.data(), secret_.data());
  const int is_wrong =
      crypto_sign_ed25519_pk_to_curve25519(open.data(), public_.data());
  WEFT_CHECK(is_wrong == 0, "a key of ours is no point of the curve");
}

SigningKey SigningKey::read(const std::filesystem::path& path) {
  check_secret(path);
  std::string text = read_text(path, /*limit=*/4096);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::array<std::uint8_t, 32> seed;
  const bool is_key = from_hex(text, seed);
  sodium_memzero(text.data(), text.size());
  if (!is_key) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "is no key: it must hold 64 hexadecimal digits")
        .hint("weft market key -o FILE draws one");
  }
  SigningKey key{std::span<const std::uint8_t, 32>(seed)};
  sodium_memzero(seed.data(), seed.size());
  return key;
}

void SigningKey::write(const std::filesystem::path& path) const {
  std::string text = to_hex(seed_) + "\n";
  write_secret(path, text);
  sodium_memzero(text.data(), text.size());
}

bool is_signed_by(const PublicKey& key, const Signature& signature,
                  std::string_view context, std::string_view message) {
  const std::string text = in_context(context, message);
  return crypto_sign_verify_detached(signature.data(), unsigned_bytes(text),
                                     text.size(), key.data()) == 0;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

PublicKey key_from_text(std::string_view text, std::string_view where) {
  PublicKey key;
  if (!from_hex(text, key)) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "'{}' is no account: 64 hexadecimal digits are due", text);
  }
  return key;
}

std::string short_name(const PublicKey& key) {
  return to_hex(std::span(key).first(4));
}

}  // namespace weft::market
