#include "tests/fuzz/fuzz.h"

#include "weft/base/libraries/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  return weft::fuzz::refuse_or_accept([&] {
    const auto bytes = weft::gunzip({data, size}, "fuzz", kMostBytes);
    WEFT_CHECK(bytes.size() <= kMostBytes);
    WEFT_CHECK(bytes.size() <= weft::kMostDeflateGrowth * size);
  });
}
