#include "tests/fuzz/fuzz.h"

#include "weft/gate/condition.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto condition =
        weft::parse_gate_condition(weft::fuzz::text_of(data, size));
    weft::warnings_of(condition);
    WEFT_CHECK(weft::parse_gate_condition(weft::to_string(condition)) ==
               condition);
    for (const weft::GateClause& clause : condition.clauses) {
      weft::truth_of(clause,
                     {weft::kMostPoints, {weft::kMostPoints, 0, 12345}});
    }
  });
}
