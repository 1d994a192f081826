// Patterns of names: "*.bias".
//
// Threads: pure functions.
#pragma once

#include <string_view>

namespace weft {

// Whether `pattern`, in which '*' stands for any characters or none, describes
// all of `text`. Takes at most the product of both lengths.
inline bool matches_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  // Where the last star stands, and how far what it stands for may reach.
  std::size_t star = pattern.npos;
  std::size_t reach = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      reach = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      // What comes after the star did not fit here: the star takes one more.
      p = star + 1;
      t = ++reach;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace weft
