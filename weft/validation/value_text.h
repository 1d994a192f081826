// What a text in a column is: an integer, a number, or a text.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::validation {

enum class ValueKind : std::uint8_t { kInt, kFloat, kText };

struct ParsedValue {
  ValueKind kind = ValueKind::kText;
  std::int64_t integer = 0;  // of kInt
  double number = 0;         // of kInt and kFloat
};

// An integer is what fits 64 bits; "nan" and "inf" are numbers, as are integers
// beyond 64 bits.
ParsedValue parse_value(std::string_view text);

bool is_utf8(std::string_view text);

// So much of a text as a message shows, with U+FFFD in place of bytes that are
// no UTF-8: at most `most` bytes of it.
std::string shown_text(std::string_view text, std::size_t most = 256);

// Whether a field of a table says that its value is not known: "", "?", "NA",
// "N/A", "null". Unlike the readers (data/records.h) this counts "NaN" as a
// number that is none, since a sensor that begins to send it is to be noticed.
inline bool is_missing_text(std::string_view field) {
  if (field.size() > 4) return false;
  // Most fields are told by how they begin.
  if (!field.empty() && field[0] != '?' && field[0] != 'N' && field[0] != 'n') {
    return false;
  }
  return field.empty() || field == "?" || field == "NA" || field == "N/A" ||
         field == "null";
}

}  // namespace weft::validation
