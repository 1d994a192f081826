#include "weft/validation/toml_text.h"

#include <algorithm>
#include <cmath>

#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

constexpr std::size_t kLineWidth = 76;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string toml_string(std::string_view text) {
  if (!is_utf8(text)) {
    throw Error(ErrorCode::kInvalidArgument, "schema",
                "'{}' is no UTF-8, and no text of a schema can be that",
                shown_text(text, 80));
  }
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (code < 0x20 || code == 0x7f) {
      quoted += fmt::format("\\u{:04x}", code);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string toml_key(std::string_view name) {
  if (!name.empty() && std::ranges::all_of(name, is_bare)) {
    return std::string(name);
  }
  return toml_string(name);
}

std::string toml_number(Bound number) {
  constexpr Bound kLargest = 9223372036854775807.0L;
  if (std::trunc(number) == number && number >= -kLargest - 1 &&
      number <= kLargest) {
    return fmt::format("{}", static_cast<std::int64_t>(number));
  }
  const std::string text = fmt::format("{}", static_cast<double>(number));
  // TOML wants digits behind a point, and reads "1e+20" as it is.
  return text;
}

std::string toml_list(const std::vector<std::string>& items) {
  std::string line = "[";
  for (const std::string& item : items) {
    line += (line.size() > 1 ? ", " : "") + item;
  }
  line += ']';
  if (line.size() <= kLineWidth - 16) return line;
  std::string text = "[\n";
  std::string row = "  ";
  for (const std::string& item : items) {
    if (row.size() > 2 && row.size() + item.size() + 2 > kLineWidth) {
      text += row + "\n";
      row = "  ";
    }
    row += (row.size() > 2 ? " " : "") + item + ",";
  }
  return text + row + "\n]";
}

std::string toml_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(toml_string(text));
  return toml_list(items);
}

}  // namespace weft::validation
