#include "weft/ledger/record.h"

#include <bit>
#include <cstring>
#include <sodium.h>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are digested as they lie");

// A digest in the making.
class Digester {
 public:
  Digester() {
    crypto_generichash_init(&state_, /*key=*/nullptr, 0, sizeof(LedgerDigest));
  }
  void add(const void* bytes, std::size_t count) {
    crypto_generichash_update(&state_, static_cast<const unsigned char*>(bytes),
                              count);
  }
  void add(std::int64_t number) { add(&number, sizeof number); }
  LedgerDigest digest() {
    LedgerDigest digest;
    crypto_generichash_final(&state_, digest.data(), digest.size());
    return digest;
  }

 private:
  crypto_generichash_state state_;
};

void check_text(std::string_view what, std::string_view text,
                std::size_t most) {
  if (text.size() > most) {
    throw Error(ErrorCode::kInvalidArgument, "ledger",
                "the {} of a record has {} bytes, at most {} fit", what,
                text.size(), most);
  }
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos) {
    throw Error(ErrorCode::kInvalidArgument, "ledger",
                "the {} of a record is no UTF-8 text", what);
  }
}

}  // namespace

LedgerHead ledger_beginning(std::string_view name) {
  Digester digester;
  digester.add("weft ledger 1", 13);
  digester.add(name.data(), name.size());
  return {.digest = digester.digest()};
}

void check(const LedgerEntry& entry) {
  check_text("book", entry.book, kMostNameBytes);
  check_text("kind", entry.kind, kMostNameBytes);
  check_text("key", entry.key, kMostNameBytes);
  check_text("body", entry.body, kMostBodyBytes);
  if (entry.book.empty() || entry.kind.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "ledger", "a record has no {}",
                entry.book.empty() ? "book" : "kind");
  }
}

LedgerDigest digest_of(const LedgerRecord& record, const LedgerDigest& before) {
  Digester digester;
  digester.add(before.data(), before.size());
  digester.add(record.sequence);
  digester.add(record.time);
  const std::array<const std::string*, 4> texts{&record.book, &record.kind,
                                                &record.key, &record.body};
  for (const std::string* text : texts) {
    digester.add(static_cast<std::int64_t>(text->size()));
  }
  for (const std::string* text : texts) {
    digester.add(text->data(), text->size());
  }
  return digester.digest();
}

void LedgerChain::follow(const LedgerRecord& record) {
  const auto damaged = [&](std::string_view what) {
    return Error(ErrorCode::kDataLoss, where_, "record {} {}",
                 head_.sequence + 1, what)
        .hint(
            "weft ledger verify says what is left, and weft ledger restore "
            "takes the rest from a copy");
  };
  if (record.sequence != head_.sequence + 1) throw damaged("is missing");
  if (record.time < head_.time) {
    throw damaged("was written before the one in front of it");
  }
  if (record.digest != digest_of(record, head_.digest)) {
    throw damaged(
        "is not what was written: its digest does not follow from "
        "it and from the record before");
  }
  head_ = {record.sequence, record.time, record.digest};
}

std::string to_text(const LedgerDigest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<LedgerDigest> digest_from_text(std::string_view text) {
  LedgerDigest digest;
  std::size_t length = 0;
  if (text.size() != 2 * digest.size() ||
      sodium_hex2bin(digest.data(), digest.size(), text.data(), text.size(),
                     /*ignore=*/nullptr, &length, /*end=*/nullptr) != 0 ||
      length != digest.size() || to_text(digest) != text) {
    return std::nullopt;
  }
  return digest;
}

}  // namespace weft
