// Who somebody is in a market: a key pair of Ed25519, of which the public key
// is the account's name.
//
// What is signed is a context, a line feed and the message, so that a signature
// of one kind of message is good for no other.
//
// Threads: value types and pure functions.
// Errors:  Error(kInvalidArgument) for texts and files that are no keys.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/ledger/record.h"

namespace weft::market {

using Digest = LedgerDigest;
using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

// BLAKE2b of 256 bits.
Digest digest_of_bytes(std::string_view bytes);

class SigningKey {
 public:
  // Drawn anew.
  SigningKey();
  // The same 32 bytes give the same key.
  explicit SigningKey(std::span<const std::uint8_t, 32> seed);
  SigningKey(const SigningKey&) = default;
  SigningKey& operator=(const SigningKey&) = default;
  ~SigningKey();

  const PublicKey& public_key() const { return public_; }
  Signature sign(std::string_view context, std::string_view message) const;

  // The same person's keys of X25519, to which others encrypt.
  void channel_keys(std::span<std::uint8_t, 32> secret,
                    std::span<std::uint8_t, 32> open) const;

  // A file that only its owner may read. Throws for one that others may.
  static SigningKey read(const std::filesystem::path& path);
  // Where no file may be yet.
  void write(const std::filesystem::path& path) const;

 private:
  void derive();

  std::array<std::uint8_t, 32> seed_;
  std::array<std::uint8_t, 64> secret_;
  PublicKey public_;
};

bool is_signed_by(const PublicKey& key, const Signature& signature,
                  std::string_view context, std::string_view message);

// Lower-case hexadecimal digits, and back; nothing if they are none.
std::string to_hex(std::span<const std::uint8_t> bytes);
bool from_hex(std::string_view text, std::span<std::uint8_t> bytes);
PublicKey key_from_text(std::string_view text, std::string_view where);
// Eight digits, for people.
std::string short_name(const PublicKey& key);

}  // namespace weft::market
