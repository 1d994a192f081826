// What developers must not read, sealed with a key of the gate's owner:
// XSalsa20 with Poly1305 (libsodium's secretbox), a nonce drawn for each text.
// Whoever has a ledger and not the key learns how many blocks of 4 KiB a text
// has, and no more ("true" must not be told from "false" by its length); a text
// that was changed does not open.
//
// Threads: immutable.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

inline constexpr const char* kGateKeyVariable = "WEFT_GATE_KEY";

class GateKey {
 public:
  // Draws one.
  static GateKey make();
  // From a file that only its owner may read, or, where `path` is empty, from
  // the environment. Throws Error(kUnavailable) where there is none, and
  // Error(kInvalidArgument) for 64 hexadecimal digits that are none, and for a
  // file that others may read.
  static GateKey load(const std::filesystem::path& path);
  GateKey(const GateKey&) = default;
  GateKey& operator=(const GateKey&) = default;
  ~GateKey();

  // Writes it to a file of mode 0600, where none may be.
  void save(const std::filesystem::path& path) const;

  // Tells keys apart, and says nothing of them.
  std::string id() const;
  // What comes out is letters that JSON takes as they are.
  std::string seal(std::string_view text) const;
  // Throws Error(kDataLoss) for what was not sealed with this key, or was
  // changed since.
  std::string open(std::string_view sealed) const;

 private:
  GateKey() = default;
  static GateKey from_text(std::string_view text, const std::string& where);

  std::array<std::uint8_t, 32> key_{};
};

}  // namespace weft
