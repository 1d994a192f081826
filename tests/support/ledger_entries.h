// Entries of a book that counts, and the state that follows from them.
#pragma once

#include <charconv>
#include <string>

#include "weft/ledger/book.h"

namespace weft::test {

// What is left of a sum that entries take parts of.
struct Till {
  std::int64_t left = 0;
  std::int64_t records = 0;

  void apply(const LedgerRecord& record) {
    std::int64_t amount = 0;
    std::from_chars(record.body.data(), record.body.data() + record.body.size(),
                    amount);
    left -= amount;
    ++records;
  }
};

// Takes one from the till for a request, once however often it is asked; false
// if nothing is left.
inline bool take_one(Book<Till>& book, const std::string& request) {
  return book.transact([&](BookWriter<Till>& writer) {
    if (writer.find(request)) return true;
    if (writer.state().left < 1) return false;
    writer.append("take", "1", request);
    return true;
  });
}

inline void append_one(Ledger& ledger, const std::string& body,
                       const std::string& key = {}) {
  ledger.transact([&](LedgerWriter& writer) {
    writer.append({"test", "line", body, key});
  });
}

inline std::vector<LedgerRecord> records_of(Ledger& ledger) {
  std::vector<LedgerRecord> records;
  ledger.read(ledger.beginning(),
              [&](const LedgerRecord& record) { records.push_back(record); });
  return records;
}

}  // namespace weft::test
