// The key by which the ranks of a run know each other, and under which they
// seal what they send.
//
// Threads: a value type.
// Errors:  Error(kInvalidArgument) for a key that is too short, or in a file
//          that others may read; Error(kUnavailable) for no such file.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::tcp {

// Shorter ones could be guessed.
inline constexpr std::size_t kLeastKeyBytes = 32;
inline constexpr std::string_view kMakeKey =
    "openssl rand -hex 32 > run.key && chmod 600 run.key";

class RunKey {
 public:
  // From a text of at least kLeastKeyBytes; space at its ends does not count.
  // `where` names it in errors: the text itself never stands in one.
  RunKey(std::string_view text, std::string_view where);
  RunKey(const RunKey&) = default;
  RunKey& operator=(const RunKey&) = default;
  ~RunKey();

  std::span<const unsigned char, 32> bytes() const { return bytes_; }

 private:
  std::array<unsigned char, 32> bytes_;
};

// The key in `file`; if that is empty, what WEFT_KEY says; nothing if that is
// not set either.
std::optional<RunKey> find_run_key(const std::string& file);

}  // namespace weft::tcp
