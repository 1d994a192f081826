// Texts that say whether something is so.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weft::validation {

inline bool is_true_text(std::string_view text) {
  constexpr std::array<std::string_view, 5> kTexts = {"TRUE", "true", "SET",
                                                      "set", "1"};
  // The empty text is no value of a table, but may be one of JSON.
  return text.empty() || std::ranges::find(kTexts, text) != kTexts.end();
}

inline bool is_false_text(std::string_view text) {
  constexpr std::array<std::string_view, 5> kTexts = {"FALSE", "false", "CLEAR",
                                                      "clear", "0"};
  return std::ranges::find(kTexts, text) != kTexts.end();
}

}  // namespace weft::validation
