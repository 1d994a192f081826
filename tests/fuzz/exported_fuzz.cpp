#include "tests/fuzz/fuzz.h"

#include "weft/files/exported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    weft::parse_exported_info(weft::fuzz::text_of(data, size), "fuzz");
  });
}
