#include "tests/fuzz/fuzz.h"

#include "weft/data/libsvm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft;
  return fuzz::refuse_or_accept([&] {
    auto rows = parse_libsvm(fuzz::text_of(data, size), "fuzz");
    WEFT_CHECK(rows.rows() > 0 && 4 * rows.columns.size() <= size + 1);
    WEFT_CHECK(rows.begin.size() == rows.rows() + 1);
    WEFT_CHECK(rows.begin.back() == rows.columns.size());
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      std::uint32_t least = 0;
      for (const std::uint32_t column : rows.columns_of(row)) {
        WEFT_CHECK(column >= least && column < rows.width);
        least = column + 1;
      }
    }
    make_binary(rows, "fuzz");
  });
}
