#include "tests/fuzz/fuzz.h"

#include "weft/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto header = weft::parse_safetensors({data, size}, "fuzz");
    for (const auto& entry : header.entries) {
      WEFT_CHECK(header.data_begin + entry.begin + entry.type.bytes() <= size);
    }
  });
}
