#include "tests/fuzz/fuzz.h"

#include "weft/data/json_lines.h"
#include "weft/data/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const weft::JsonLines lines =
        weft::read_json_lines(weft::fuzz::text_of(data, size), "fuzz");
    if (lines.names.empty()) return;
    weft::TableOptions options;
    options.format.names = lines.names;
    weft::parse_table(lines.csv, "fuzz", options);
  });
}
