// The first two bytes say how long the JSON is that the rest begins with.
#include "tests/fuzz/fuzz.h"

#include "weft/serve/protocol/json_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) return 0;
  const std::size_t json_size = data[0] | std::size_t{data[1]} << 8;
  return weft::fuzz::refuse_or_accept([&] {
    weft::serve::parse_infer_request(weft::fuzz::text_of(data + 2, size - 2),
                                     json_size);
  });
}
