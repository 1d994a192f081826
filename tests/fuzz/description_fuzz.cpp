#include "tests/fuzz/fuzz.h"

#include "weft/data/description_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto description =
        weft::parse_description(weft::fuzz::text_of(data, size), "fuzz");
    // What was accepted can be written down again.
    weft::to_json(*description);
  });
}
