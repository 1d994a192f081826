#include "tests/fuzz/fuzz.h"

#include "weft/data/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const weft::Image image = weft::decode_image({data, size}, "fuzz", 3);
    WEFT_CHECK(static_cast<std::int64_t>(image.pixels.size()) ==
               image.height * image.width * 3);
  });
}
