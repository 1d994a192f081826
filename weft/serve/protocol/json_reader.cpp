#include "weft/serve/protocol/json_reader.h"

#include <charconv>

namespace weft::serve {
namespace {

constexpr int kMostDepth = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends a code point as UTF-8.
void append(std::string& out, unsigned code) {
  const auto byte = [&](unsigned value) {
    out += static_cast<char>(static_cast<unsigned char>(value));
  };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

}  // namespace

char JsonReader::peek() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return c;
    ++at_;
  }
  return '\0';
}

bool JsonReader::take(char wanted) {
  // At the end peek() has what a byte of zero has, too.
  if (peek() != wanted || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char wanted) {
  if (take(wanted)) return;
  if (at_ == text_.size()) fail("the text ends where '{}' is due", wanted);
  fail("'{}' is due", wanted);
}

void JsonReader::end() {
  if (peek() != '\0' || at_ != text_.size()) fail("something follows the JSON");
}

unsigned JsonReader::hex() {
  unsigned value = 0;
  const char* begin = text_.data() + at_;
  if (text_.size() - at_ < 4 ||
      std::from_chars(begin, begin + 4, value, 16).ptr != begin + 4) {
    fail("four hexadecimal digits are due");
  }
  at_ += 4;
  return value;
}

void JsonReader::escape(std::string& out) {
  if (at_ == text_.size()) fail("the text ends within quotes");
  const char c = text_[at_++];
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const auto known = kLetters.find(c);
  if (known != kLetters.npos) {
    out += kMeanings[known];
    return;
  }
  if (c != 'u') fail("there is no escape '\\{}'", c);
  // What has more than 16 bits is escaped as two halves (RFC 8259, section 7).
  unsigned code = hex();
  if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const unsigned low = hex();
    if (low < 0xDC00 || low >= 0xE000) fail("half of a character is missing");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code < 0xE000) {
    fail("half of a character is missing");
  }
  append(out, code);
}

std::string JsonReader::string() {
  expect('"');
  std::string result;
  while (true) {
    if (at_ == text_.size()) fail("the text ends within quotes");
    const char c = text_[at_++];
    if (c == '"') return result;
    if (static_cast<unsigned char>(c) < 0x20) {
      fail("a control character is within quotes");
    }
    if (c == '\\') {
      escape(result);
    } else {
      result += c;
    }
  }
}

bool JsonReader::boolean() {
  const char first = peek();
  for (const std::string_view word : {"true", "false"}) {
    if (text_.substr(at_, word.size()) != word) continue;
    at_ += word.size();
    return first == 't';
  }
  fail("true or false is due");
}

bool JsonReader::digits() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  return at_ > begin;
}

std::string_view JsonReader::number() {
  peek();
  const std::size_t begin = at_;
  const auto next = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
  if (next() == '-') ++at_;
  // A zero stands in front of no other digit (RFC 8259, section 6).
  const bool is_zero = next() == '0';
  if (!digits() || (is_zero && at_ - begin > (text_[begin] == '-' ? 2u : 1u))) {
    at_ = begin;
    fail("a number is due");
  }
  if (next() == '.') {
    ++at_;
    if (!digits()) fail("digits are due behind the point");
  }
  if (next() == 'e' || next() == 'E') {
    ++at_;
    if (next() == '+' || next() == '-') ++at_;
    if (!digits()) fail("digits are due in the exponent");
  }
  return text_.substr(begin, at_ - begin);
}

std::int64_t JsonReader::integer() {
  const std::string_view text = number();
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) {
    fail("'{}' is no integer of 64 bits", text);
  }
  return value;
}

std::string_view JsonReader::skip() {
  peek();
  const std::size_t begin = at_;
  skip_nested(0);
  return text_.substr(begin, at_ - begin);
}

void JsonReader::skip_nested(int depth) {
  if (depth > kMostDepth)
    fail("values are nested more than {} deep", kMostDepth);
  switch (peek()) {
    case '{':
      object([&](const std::string&) { skip_nested(depth + 1); });
      return;
    case '[':
      list([&](std::size_t) { skip_nested(depth + 1); });
      return;
    case '"':
      string();
      return;
    case 't':
    case 'f':
      boolean();
      return;
    case 'n':
      if (text_.substr(at_, 4) != "null") fail("a value is due");
      at_ += 4;
      return;
    default:
      number();
  }
}

}  // namespace weft::serve
