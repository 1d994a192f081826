// What a rank says of itself and of others while they meet: three lines.
#include "tests/fuzz/fuzz.h"

#include "weft/comm/tcp/members.h"

namespace weft::fuzz {

inline void read_members(std::string_view input) {
  const auto members = tcp::parse_members(input, 3);
  WEFT_CHECK(tcp::text_of(members) == input);
}

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace weft::fuzz;
  return refuse_or_accept([&] { read_members(text_of(data, size)); });
}
