#include "weft/ledger/verify.h"

#include <charconv>

namespace weft {
namespace {

Error not_in_chain(const Ledger& ledger, const LedgerHead& head,
                   std::string_view what) {
  return Error(ErrorCode::kDataLoss, ledger.location(),
               "record {}, which was noted as {}, {}", head.sequence,
               to_text(head), what);
}

}  // namespace

LedgerCheck verify(Ledger& ledger, const std::vector<LedgerHead>& noted) {
  LedgerCheck check;
  check.head = ledger.beginning();
  std::map<std::int64_t, LedgerHead> expected;
  for (const LedgerHead& head : noted) expected[head.sequence] = head;
  try {
    ledger.read(check.head, [&](const LedgerRecord& record) {
      const auto found = expected.find(record.sequence);
      if (found != expected.end()) {
        if (found->second.digest != record.digest) {
          throw not_in_chain(ledger, found->second, "is another");
        }
        expected.erase(found);
      }
      check.head = {record.sequence, record.time, record.digest};
      ++check.books[record.book];
    });
    if (!expected.empty()) {
      throw not_in_chain(ledger, expected.begin()->second,
                         "is missing: newer records were taken away");
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    check.broken = error.message();
  }
  check.damage = ledger.store().damage();
  return check;
}

std::string to_text(const LedgerHead& head) {
  return fmt::format("{}:{}", head.sequence, to_text(head.digest));
}

LedgerHead head_from_text(const std::string& text) {
  LedgerHead head;
  const std::size_t colon = text.find(':');
  const char* end = text.data() + std::min(colon, text.size());
  const auto number = std::from_chars(text.data(), end, head.sequence);
  const auto digest = colon == std::string::npos
                          ? std::nullopt
                          : digest_from_text(text.substr(colon + 1));
  if (number.ec != std::errc() || number.ptr != end || head.sequence < 1 ||
      !digest) {
    throw Error(ErrorCode::kInvalidArgument, "head",
                "'{}' is no end of a chain", text)
        .hint(
            "a number, a colon and 64 hexadecimal digits, as weft ledger "
            "verify prints them");
  }
  head.digest = *digest;
  return head;
}

}  // namespace weft
