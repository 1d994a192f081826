// A line of an exported ledger, and what a book of budgets makes of its body.
#include "tests/fuzz/fuzz.h"

#include "weft/budget/budget_state.h"
#include "weft/ledger/export.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const weft::LedgerRecord record =
        weft::record_from_line(weft::fuzz::text_of(data, size), "fuzz");
    weft::digest_of(record, record.digest);
    weft::BudgetBooks books;
    books.apply(record);
  });
}
