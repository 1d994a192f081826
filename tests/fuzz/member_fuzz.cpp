// What a rank says of itself, or of another, while they meet.
#include "tests/fuzz/fuzz.h"

#include "weft/comm/tcp/member.h"

namespace weft::fuzz {

inline void read_member(std::string_view input) {
  WEFT_CHECK(tcp::text_of(tcp::parse_member(input)) == input);
}

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::fuzz;
  return refuse_or_accept([&] { read_member(text_of(data, size)); });
}
