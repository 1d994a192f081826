#include "tests/fuzz/fuzz.h"

#include "weft/train/files/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    weft::parse_checkpoint_info(weft::fuzz::text_of(data, size), "fuzz");
  });
}
