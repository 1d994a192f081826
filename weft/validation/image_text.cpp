#include "weft/validation/image_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::validation {
namespace {

// As many texts of four characters as hold the longest signature.
constexpr std::size_t kGroups = 4;
constexpr std::size_t kMostBytes = 3 * kGroups;

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

// The first bytes; fewer where a character is none of base64.
std::string first_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at + 4 <= text.size() && bytes.size() < kMostBytes;
       at += 4) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = kAlphabet.find(text[at + i]);
      if (digit == kAlphabet.npos) return bytes;
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    for (const int shift : {16, 8, 0}) {
      bytes += static_cast<char>(group >> shift & 0xff);
    }
  }
  return bytes;
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
  constexpr std::string_view kUrl = "data:image/";
  constexpr std::string_view kCoding = ";base64,";
  if (text.starts_with(kUrl)) {
    const std::size_t coding = text.find(kCoding);
    if (coding == text.npos) return kSignatures.size();
    text.remove_prefix(coding + kCoding.size());
  }
  const std::string bytes = first_bytes(text);
  if (bytes.size() < kMostBytes || !is_base64(text)) return kSignatures.size();
  const auto found =
      std::ranges::find_if(kSignatures, [&](const Signature& each) {
        return bytes.starts_with(each.begins) && std::string_view(bytes)
                                                     .substr(each.place)
                                                     .starts_with(each.holds);
      });
  return static_cast<std::size_t>(found - kSignatures.begin());
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
