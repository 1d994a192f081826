#include "cli/terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weft::cli {
namespace {

Colours chosen_colours = Colours::kAuto;

// How many bytes the UTF-8 character at the start of `text` has, or 0.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  // 0xC0, 0xC1 and what is above 0xF4 begin no character (RFC 3629).
  const unsigned char first = byte(0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xC2 ? 0
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                           : first < 0xF5 ? 4
                                          : 0;
  if (size > text.size()) return 0;
  // Bytes that continue a character begin with the bits 10.
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

bool steers(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  // A line feed steers nothing: messages have several lines.
  if (character.size() == 1)
    return (first < 0x20 && first != '\n') || first == 0x7F;
  // U+0080 to U+009F are control characters too.
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    // A byte that begins no character is shown alone.
    const std::string_view character =
        text.substr(0, std::max<std::size_t>(size, 1));
    // Names and texts come from files: what would steer the terminal is shown
    // as bytes.
    if (size == 0 || steers(character)) {
      for (const char c : character) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

void choose_colours(Colours choice) { chosen_colours = choice; }

bool has_colours(int descriptor) {
  if (chosen_colours != Colours::kAuto) {
    return chosen_colours == Colours::kAlways;
  }
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* kind = std::getenv("TERM");
  return is_terminal(descriptor) && kind != nullptr &&
         std::string_view(kind) != "dumb";
}

int terminal_width() {
  winsize size{};
  // Where there is no terminal, or it does not say, 80 columns are the custom.
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

std::string bar(double share) {
  constexpr int kCells = 20;
  const auto full = std::lround(share * kCells);
  std::string cells;
  for (int i = 0; i < kCells; ++i) cells += i < full ? "█" : "░";
  return cells;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t column = 0; at < text.size(); ++column) {
    if (column + 1 == columns) {
      // The last column is that of the ellipsis, unless one character is left.
      const std::size_t size =
          std::max<std::size_t>(character_size(text.substr(at)), 1);
      if (at + size == text.size()) break;
      return std::string(text.substr(0, at)) + "…";
    }
    at += std::max<std::size_t>(character_size(text.substr(at)), 1);
  }
  return std::string(text);
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) {
    digits.insert(i - 3, ",");
  }
  return digits;
}

std::string clock_time(double seconds) {
  // A time that nobody knows is infinite here, or NaN.
  if (!std::isfinite(seconds)) return "-:--";
  const auto all = std::llround(seconds);
  if (all < 3600) return fmt::format("{}:{:02}", all / 60, all % 60);
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

std::string duration_text(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : clock_time(seconds);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  // Units are powers of 1000, as for disks and networks.
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} bytes", bytes);
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string shell_word(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+=:,@";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string quoted = "'";
  // Within single quotes nothing is special but their end, so a quote is
  // written outside of them.
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

}  // namespace weft::cli
