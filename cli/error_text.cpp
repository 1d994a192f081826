#include "cli/error_text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/core.h>
#include <optional>

#include "cli/terminal.h"

#include "weft/base/error.h"
#include "weft/base/file.h"

namespace weft::cli {
namespace {

// Recipes and schemas are written by hand; what is larger is something else.
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;
// A longer line is shown where the mistake is.
constexpr std::size_t kMostColumns = 76;

// What terminals take for colours (ECMA-48, select graphic rendition).
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kBlue = "\033[34m";
constexpr std::string_view kPlain = "\033[0m";

std::string painted(std::string_view text, std::string_view colour,
                    bool in_colour) {
  return in_colour ? fmt::format("{}{}{}", colour, text, kPlain)
                   : std::string(text);
}

struct Place {
  std::string file;
  std::size_t line = 0;    // from 1 on
  std::size_t column = 0;  // in characters, from 1 on
};

// The number that `text` begins with, which is then taken off it.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || number == 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The file that `text` ends with. Nothing marks where its name begins, so that
// each place where it may is tried.
std::optional<std::string> file_at_end(std::string_view text) {
  for (const std::string_view before : {", ", "in: "}) {
    const std::size_t at = text.rfind(before);
    if (at == text.npos) continue;
    std::string name(text.substr(at + before.size()));
    if (std::error_code none; std::filesystem::is_regular_file(name, none))
      return name;
  }
  std::string name(text);
  if (std::error_code none; std::filesystem::is_regular_file(name, none))
    return name;
  return std::nullopt;
}

// That of "in: optimizer.lr, digits.toml:4:8" or "digits.toml:4:8: …".
std::optional<Place> place_in(std::string_view line) {
  for (std::size_t colon = line.find(':'); colon != line.npos;
       colon = line.find(':', colon + 1)) {
    std::string_view rest = line.substr(colon + 1);
    const auto number = take_number(rest);
    if (!number || !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    const auto column = take_number(rest);
    if (!column) continue;
    if (auto file = file_at_end(line.substr(0, colon)))
      return Place{std::move(*file), *number, *column};
  }
  return std::nullopt;
}

std::optional<std::string> line_at(const Place& place) {
  std::string text;
  try {
    text = read_text(place.file, kMostFileBytes);
  } catch (const Error&) {
    return std::nullopt;  // it is gone by now, and the message is enough
  }
  std::string_view rest = text;
  for (std::size_t i = 1; i < place.line; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  std::string line(rest.substr(0, rest.find('\n')));
  // Marks stand below a line of which each character is as wide as they are.
  std::ranges::replace(line, '\t', ' ');
  while (line.ends_with('\r')) line.pop_back();
  return line;
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, begins_character));
}

// The byte at which character `number` of `text`, from 0 on, begins.
std::size_t byte_of(std::string_view text, std::size_t number) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (begins_character(text[at]) && seen++ == number) break;
  }
  return at;
}

// How much of `text` is the key, the value or the header that it begins with.
std::size_t word_size(std::string_view text) {
  if (text.empty()) return 0;
  const char first = text[0];
  if (first == '"' || first == '\'') {
    const std::size_t end = text.find(first, 1);
    return end == text.npos ? text.size() : end + 1;
  }
  if (first == '[' || first == '{') {
    const std::size_t end = text.rfind(first == '[' ? ']' : '}');
    return end == text.npos ? 1 : end + 1;
  }
  // A sign that is out of place is marked too.
  return std::min(std::max<std::size_t>(text.find_first_of(" =,]}#"), 1),
                  text.size());
}

// The line of `place` with marks below, or nothing.
std::string excerpt(const Place& place, bool in_colour) {
  const auto line = line_at(place);
  if (!line || place.column > characters(*line) + 1) return "";
  // So much is left out at the beginning of a line that is too long.
  const std::size_t left_out =
      place.column > kMostColumns / 2 ? place.column - kMostColumns / 2 : 0;
  const std::string_view rest =
      std::string_view(*line).substr(byte_of(*line, left_out));
  const std::string_view shown = rest.substr(0, byte_of(rest, kMostColumns));
  const std::size_t begin = byte_of(shown, place.column - 1 - left_out);
  const std::size_t size = word_size(shown.substr(begin));
  const std::string before =
      (left_out > 0 ? "…" : "") + printable(shown.substr(0, begin));
  const std::string word = printable(shown.substr(begin, size));
  const std::string behind = printable(shown.substr(begin + size)) +
                             (shown.size() < rest.size() ? "…" : "");
  std::string marks = "^";
  while (marks.size() < characters(word)) marks += '~';
  const std::string number = std::to_string(place.line);
  const std::string bar = painted("|", kBlue, in_colour);
  return fmt::format(
      "  {} {} {}{}{}\n  {} {} {}{}\n", painted(number, kBlue, in_colour), bar,
      before, painted(word, kRed, in_colour), behind,
      std::string(number.size(), ' '), bar,
      std::string(characters(before), ' '), painted(marks, kRed, in_colour));
}

}  // namespace

std::string error_text(std::string_view message, bool in_colour) {
  std::string text = painted("weft:", kRed, in_colour) + " ";
  bool is_shown = false;
  for (bool is_first = true; is_first || !message.empty(); is_first = false) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    text +=
        is_first ? painted(printable(line), kBold, in_colour) : printable(line);
    text += '\n';
    if (is_shown) continue;
    if (const auto place = place_in(line)) {
      text += excerpt(*place, in_colour);
      is_shown = true;
    }
  }
  return text;
}

}  // namespace weft::cli
