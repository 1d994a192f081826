// The first byte says of how many ranks, and how long the vector is; the rest
// is what one of them says of its items.
#include "tests/fuzz/fuzz.h"

#include "weft/comm/sparse/survey.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  weft::StreamType type;
  type.size = data[0] & 1 ? std::uint64_t{1} << 33 : 100;
  const int ranks = 1 + (data[0] >> 1);
  const auto bytes =
      std::as_bytes(std::span<const std::uint8_t>(data + 1, size - 1));
  return weft::fuzz::refuse_or_accept([&] {
    const weft::SurveyMessage message =
        weft::read_survey_message(weft::ByteReader(bytes, "fuzz"), type, ranks);
    WEFT_CHECK(message.items <= type.size);
    WEFT_CHECK(message.indices.empty() == (message.items == 0));
    for (const std::uint64_t index : message.indices) {
      WEFT_CHECK(index < type.size);
    }
    WEFT_CHECK(8 * (1 + message.indices.size()) == bytes.size());
  });
}
