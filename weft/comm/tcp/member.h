// What a rank tells others of itself while they meet: a line of its host's name
// and of the address at which it listens.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace weft::tcp {

struct Member {
  std::string host;
  std::string address;
};

std::string text_of(const Member& member);
// Throws Error(kDataLoss) for a text that is no such line, for a host that is
// no word and for an address that is none.
Member parse_member(std::string_view text);

}  // namespace weft::tcp
