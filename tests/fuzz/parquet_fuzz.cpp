#include <algorithm>

#include "tests/fuzz/fuzz.h"

#include "weft/data/parquet.h"

// All that a file holds of what a table can have.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    weft::ParquetFile file({data, size}, "fuzz");
    const auto names = file.names();
    for (std::size_t group = 0; group < file.groups(); ++group) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (file.kind(i) == weft::ParquetKind::kNone) continue;
        file.begin(group, {i});
        std::vector<weft::ParquetTexts> columns;
        while (const auto rows = file.next(1000, columns)) {
          const weft::ParquetTexts& texts = columns[0];
          std::int64_t values = texts.lengths.empty() ? rows : 0;
          for (const std::int32_t length : texts.lengths) {
            values += std::max(length, 0);
          }
          WEFT_CHECK(std::ssize(texts.values) == values);
        }
      }
    }
  });
}
