#include "weft/validation/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weft/base/read_double.h"

namespace weft::validation {
namespace {

ParsedValue parse_float(std::string_view text) {
  ParsedValue value;
  const auto [end, error] =
      read_double(text.data(), text.data() + text.size(), value.number);
  const bool is_whole = end == text.data() + text.size();
  // Beyond the range of doubles a number is still no text. "nan(text)" is read
  // as well, which no file means.
  if (error != std::errc() || !is_whole || text.back() == ')') return {};
  value.kind = ValueKind::kFloat;
  return value;
}

// Bytes of the character that `text` begins with; 0 if it is no UTF-8
// (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  // The second byte bounds what would be too long, a surrogate, or beyond the
  // last character.
  const unsigned char least = first == 0xe0   ? 0xa0
                              : first == 0xf0 ? 0x90
                                              : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

ParsedValue parse_value(std::string_view text) {
  // from_chars() knows no plus, and files do; "+-1" is none.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  if (text.empty()) return {};
  const char first = text[0];
  // Most texts are told from numbers by how they begin: what is neither a
  // digit, a sign nor a point may still be "inf" or "nan".
  const bool may_be_number = (first >= '0' && first <= '9') || first == '-' ||
                             first == '.' || (first | 32) == 'i' ||
                             (first | 32) == 'n';
  if (!may_be_number) return {};
  ParsedValue value;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value.integer);
  if (error == std::errc() && end == text.data() + text.size()) {
    value.kind = ValueKind::kInt;
    value.number = static_cast<double>(value.integer);
    return value;
  }
  return parse_float(text);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string shown_text(std::string_view text, std::size_t most) {
  std::string shown;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text.substr(at));
    if (shown.size() + std::max<std::size_t>(length, 3) > most) {
      return shown + "…";
    }
    shown += length == 0 ? std::string_view("\ufffd") : text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return shown;
}

}  // namespace weft::validation
