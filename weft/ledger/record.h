// What a ledger holds: records, each with a digest of itself and of the record
// before it, so that no record can be changed, taken out or put in between
// without changing the digests of all that follow.
//
// The digest is BLAKE2b of 256 bits over
//   digest of the record before ‖ sequence ‖ time ‖ the lengths of book, kind,
//   key and body ‖ these texts,
// numbers as 8 bytes, little-endian. Before the first record stands the digest
// of the ledger's own name, which is drawn when it is made: records of one
// ledger do not fit into another.
//
// Threads: value types and pure functions.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

using LedgerDigest = std::array<std::uint8_t, 32>;

// What a record says, before it has a place.
struct LedgerEntry {
  std::string book;  // whose it is: "budget", "gate", "market"
  std::string kind;  // what happened: "grant"
  // What the book makes of it; UTF-8, usually JSON, at most kMostBodyBytes.
  std::string body;
  // Names a request, so that one which is repeated is not done twice: a book
  // has no two records of one key. Empty: none.
  std::string key = {};

  bool operator==(const LedgerEntry&) const = default;
};

struct LedgerRecord : LedgerEntry {
  std::int64_t sequence = 0;  // 1 is the first
  // Microseconds since 1970, by the clock of whoever wrote it, but never less
  // than in the record before: a clock that is set back makes time stand still.
  std::int64_t time = 0;
  LedgerDigest digest{};

  bool operator==(const LedgerRecord&) const = default;
};

// Where the chain ends.
struct LedgerHead {
  std::int64_t sequence = 0;
  std::int64_t time = 0;
  LedgerDigest digest{};

  bool operator==(const LedgerHead&) const = default;
};

inline constexpr std::size_t kMostBodyBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostNameBytes = 256;  // of book, kind and key

// Before the first record of the ledger of that name.
LedgerHead ledger_beginning(std::string_view name);

// Throws Error(kInvalidArgument) for texts that are too long or no UTF-8, or
// for a book or kind without a name.
void check(const LedgerEntry& entry);

// The digest that a record has behind `before`.
LedgerDigest digest_of(const LedgerRecord& record, const LedgerDigest& before);

// Follows a chain and holds each record to what was before it.
class LedgerChain {
 public:
  // `where` names the ledger in errors.
  LedgerChain(std::string where, const LedgerHead& from)
      : where_(std::move(where)), head_(from) {}

  const LedgerHead& head() const { return head_; }
  // Throws Error(kDataLoss), naming the record, unless it is the next.
  void follow(const LedgerRecord& record);

 private:
  std::string where_;
  LedgerHead head_;
};

// 64 lower-case hexadecimal digits, and back; nothing if it is none.
std::string to_text(const LedgerDigest& digest);
std::optional<LedgerDigest> digest_from_text(std::string_view text);

}  // namespace weft
