#include "weft/validation/image_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::validation {
namespace {

// As many as the longest signature has.
constexpr std::size_t kMostSignature = 12;

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct Signature {
  std::string_view format;
  std::string_view begins;
  std::size_t place = 0;  // of what else is in every such file
  std::string_view holds = {};
};

using std::string_view_literals::operator""sv;
constexpr std::array<Signature, 5> kSignatures = {{
    {"png", "\x89PNG\r\n\x1a\n"},
    {"jpeg", "\xff\xd8\xff"},
    {"gif", "GIF8"},
    // Two letters may begin a word; behind the length are reserved zeros.
    {"bmp", "BM", 6, "\0\0\0\0"sv},
    {"webp", "RIFF", 8, "WEBP"},
}};

// The digit that a character stands for, or -1.
constexpr std::array<std::int8_t, 256> kDigits = [] {
  std::array<std::int8_t, 256> digits{};
  digits.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] =
        static_cast<std::int8_t>(i);
  }
  return digits;
}();

// The bytes in front of the first character that is none of base64, and `most`
// at most.
std::string bytes_of(std::string_view text, std::size_t most) {
  std::string bytes;
  bytes.reserve(std::min(most, text.size() / 4 * 3));
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int digit = kDigits[static_cast<unsigned char>(c)];
    if (digit < 0 || bytes.size() == most) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
  }
  return bytes;
}

// What stands behind the head of a URL; nothing where that is no image's.
std::string_view without_url(std::string_view text) {
  constexpr std::string_view kUrl = "data:image/";
  constexpr std::string_view kCoding = ";base64,";
  if (!text.starts_with(kUrl)) return text;
  const std::size_t coding = text.find(kCoding);
  return coding == text.npos ? std::string_view()
                             : text.substr(coding + kCoding.size());
}

bool is_base64(std::string_view text) {
  const std::size_t end = text.find_last_not_of('=');
  return end != text.npos && text.size() - 1 - end <= 2 &&
         text.substr(0, end + 1).find_first_not_of(kAlphabet) == text.npos;
}

}  // namespace

const std::vector<std::string>& image_formats() {
  static const std::vector<std::string> formats = [] {
    std::vector<std::string> names;
    for (const Signature& each : kSignatures) names.emplace_back(each.format);
    return names;
  }();
  return formats;
}

std::size_t image_format_of(std::string_view text) {
  text = without_url(text);
  const std::string bytes = bytes_of(text, kMostSignature);
  if (bytes.size() < kMostSignature || !is_base64(text)) {
    return kSignatures.size();
  }
  const auto found =
      std::ranges::find_if(kSignatures, [&](const Signature& each) {
        return bytes.starts_with(each.begins) && std::string_view(bytes)
                                                     .substr(each.place)
                                                     .starts_with(each.holds);
      });
  return static_cast<std::size_t>(found - kSignatures.begin());
}

std::string image_file_of(std::string_view text) {
  return bytes_of(without_url(text), text.size());
}

std::string image_text_of(std::string_view file) {
  std::string text;
  for (std::size_t at = 0; at < file.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, file.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 |
              (i < count ? static_cast<unsigned char>(file[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string_view pixel_text(std::string_view format) {
  if (format == "jpeg") {
    return "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP/////////////////////////////////"
           "///"
           "//////////////////////////////////////////////////wAALCAABAAEBAREA/"
           "8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEA"
           "AD8AN//Z";
  }
  if (format == "gif") {
    return "R0lGODdhAQABAIEAAAAAAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw==";
  }
  if (format == "bmp") {
    return "Qk1CAAAAAAAAAD4AAAAoAAAAAQAAAAEAAAABAAEAAAAAAAQAAADEDgAAxA4AAAIAAAA"
           "C"
           "AAAAAAAAAP///wAAAAAA";
  }
  if (format == "webp") {
    return "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAUAmJaQAA3AA/v02aAA=";
  }
  return "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABS"
         "K+k"
         "cQAAAABJRU5ErkJggg==";
}

}  // namespace weft::validation
