#include "tests/fuzz/fuzz.h"

#include "weft/graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto graph =
        weft::parse_graph(weft::fuzz::text_of(data, size), "fuzz");
    const std::string text = weft::to_string(graph);
    // What was printed must be readable: an Error here is a defect.
    std::string again;
    try {
      again = weft::to_string(weft::parse_graph(text, "printed"));
    } catch (const weft::Error& error) {
      again = error.what();
    }
    WEFT_CHECK(again == text, "{} becomes {}", text, again);
  });
}
