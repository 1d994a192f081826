#include "weft/validation/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace weft::validation {
namespace {

template <class Word>
std::uint64_t load(const char* place) {
  Word word;
  std::memcpy(&word, place, sizeof(word));
  return word;
}

// Both halves of the product, so that all bits of both factors count.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  // GCC and Clang have the type on all 64-bit machines.
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t kOdd0 = 0xa0761d6478bd642f;
constexpr std::uint64_t kOdd1 = 0xe7037ed1a0b428db;
constexpr std::uint64_t kOdd2 = 0x8ebc6af09c88c6e3;

ParsedValue parse_float(std::string_view text) {
  ParsedValue value;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value.number);
  const bool is_whole = end == text.data() + text.size();
  // Beyond the range of doubles a number is still no text: it is infinite, or
  // as good as zero.
  if (error == std::errc::result_out_of_range && is_whole) {
    const bool is_tiny = text.find_first_of("eE") != text.npos &&
                         text.find("e-") + text.find("E-") + 1 != text.npos;
    value.number = is_tiny ? 0 : text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    value.kind = ValueKind::kFloat;
    return value;
  }
  // from_chars() reads "nan(text)" as well, which no file means.
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

std::uint64_t hash_text(std::string_view text, bool is_string) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = mix(kOdd0 ^ left, kOdd1 ^ (is_string ? kOdd2 : 0));
  for (; left > 16; left -= 16, at += 16) {
    hash = mix(load<std::uint64_t>(at) ^ kOdd1,
               load<std::uint64_t>(at + 8) ^ hash);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  // Words that overlap cover every length without a loop over bytes.
  if (left >= 8) {
    low = load<std::uint64_t>(at);
    high = load<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    low = load<std::uint32_t>(at);
    high = load<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    low = load<std::uint8_t>(at) << 16 |
          load<std::uint8_t>(at + left / 2) << 8 |
          load<std::uint8_t>(at + left - 1);
  }
  hash = mix(low ^ kOdd2, high ^ hash);
  hash = mix(hash ^ kOdd0, kOdd1);
  // Tables keep 0 for an empty slot.
  return hash == 0 ? 1 : hash;
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

bool is_missing_text(std::string_view field) {
  if (field.size() > 4) return false;
  return field.empty() || field == "?" || field == "NA" || field == "N/A" ||
         field == "null";
}

}  // namespace weft::validation
