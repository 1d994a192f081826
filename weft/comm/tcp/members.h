// What ranks tell each other of themselves while they meet: a line each, of a
// host's name and the address at which the rank listens.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tcp {

struct Member {
  std::string host;
  std::string address;
};

std::string text_of(std::span<const Member> members);
// So many of them. Throws Error(kDataLoss) for a text that holds anything else,
// a host that is no word, or an address that is none.
std::vector<Member> parse_members(std::string_view text, std::size_t count);

}  // namespace weft::tcp
