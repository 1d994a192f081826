#include "tests/fuzz/fuzz.h"

#include "weft/serve/protocol/json_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    weft::serve::parse_infer_request(weft::fuzz::text_of(data, size));
  });
}
