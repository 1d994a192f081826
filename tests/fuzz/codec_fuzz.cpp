// The first line is the text of a pipeline, the next two bytes are the size of
// a tensor, and the rest is what the stages wrote. The header of such a
// message is put in front, so that damage reaches the stages.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/fuzz/fuzz.h"

#include "weft/comm/codec/pipeline.h"

namespace weft::fuzz {

inline void decode_message(std::string_view input) {
  constexpr std::size_t kMostElements = 4096;
  constexpr std::size_t kHeader = 10;
  const std::size_t line = input.find('\n');
  if (line == std::string_view::npos || input.size() < line + 3) return;
  const Pipeline pipeline(input.substr(0, line), {.min_elements = 0});
  std::uint16_t size;
  std::memcpy(&size, input.data() + line + 1, sizeof(size));
  const std::size_t elements = size % kMostElements;
  const auto stages = input.substr(line + 3);

  std::vector<float> values(elements, 0.0f);
  Message message;
  pipeline.encode(values, {}, {}, message);
  message.bytes.resize(kHeader);
  ByteWriter(message.bytes)
      .write_all(std::as_bytes(std::span<const char>(stages)));
  pipeline.decode(message.bytes, {}, values);
  for (const float value : values) WEFT_CHECK(std::isfinite(value));
  if (!pipeline.is_sparse()) return;
  SparseEntries entries;
  pipeline.decode_sparse(message.bytes, {},
                         static_cast<std::uint32_t>(elements), entries);
  WEFT_CHECK(entries.indices.size() == entries.values.size());
  WEFT_CHECK(std::adjacent_find(entries.indices.begin(), entries.indices.end(),
                                std::greater_equal<>()) ==
             entries.indices.end());
}

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::fuzz;
  return refuse_or_accept([&] { decode_message(text_of(data, size)); });
}
