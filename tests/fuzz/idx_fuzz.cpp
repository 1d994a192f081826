#include "tests/fuzz/fuzz.h"

#include "weft/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const weft::IdxArray array = weft::parse_idx({data, size}, "fuzz");
    WEFT_CHECK(array.data.size() <= size);
  });
}
