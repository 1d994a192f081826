#include <string>

#include "tests/fuzz/fuzz.h"

#include "weft/base/checksum.h"
#include "weft/validation/report_json.h"

// The bytes behind a checksum that is right, so that damage reaches the parser.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const std::uint64_t sum = weft::checksum({data, size});
    std::string bytes = "weft statistics 4\n";
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    bytes.append(weft::fuzz::text_of(data, size));
    auto statistics = weft::validation::Statistics::from_bytes(bytes, "fuzz");
    statistics.merge(statistics);
    weft::validation::to_json(summarize(statistics)).dump();
  });
}
