#include <vector>

#include "tests/fuzz/fuzz.h"

#include "weft/data/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto text = weft::fuzz::text_of(data, size);
    const auto table = weft::parse_table(text, "fuzz");
    // What was accepted once is accepted as its own test part.
    weft::parse_table(text, "fuzz", {}, table.get());
  });
}
