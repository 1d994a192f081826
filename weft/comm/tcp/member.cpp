#include "weft/comm/tcp/member.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/comm/tcp/address.h"

namespace weft::tcp {
namespace {

// Names of hosts are no longer, and neither are addresses in numbers.
constexpr std::size_t kMostName = 255;

Error no_member(std::string_view why) {
  return Error(ErrorCode::kDataLoss, "tcp", "the introduction of a rank {}",
               why);
}

// Takes what stands before `end` off the front of `text`. Names stand in
// messages, so that nothing in them may steer a terminal.
std::string take_word(std::string_view& text, char end) {
  const std::size_t size = text.find(end);
  if (size == text.npos) throw no_member("is cut short");
  const std::string_view word = text.substr(0, size);
  const bool is_word =
      std::ranges::all_of(word, [](char c) { return c > ' ' && c < '\x7f'; });
  if (word.empty() || word.size() > kMostName || !is_word) {
    throw no_member("has a name that is none");
  }
  text.remove_prefix(size + 1);
  return std::string(word);
}

}  // namespace

std::string text_of(const Member& member) {
  return member.host + ' ' + member.address + '\n';
}

Member parse_member(std::string_view text) {
  Member member;
  member.host = take_word(text, ' ');
  member.address = take_word(text, '\n');
  try {
    Address::of_numbers(member.address);
  } catch (const Error&) {
    throw no_member("has an address that is none");
  }
  if (!text.empty()) throw no_member("is too long");
  return member;
}

}  // namespace weft::tcp
