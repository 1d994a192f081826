#include "weft/train/recipe/recipe_writer.h"

#include <fmt/core.h>

namespace weft {
namespace {

std::string text_of(bool value) { return value ? "true" : "false"; }

std::string text_of(std::int64_t value) { return std::to_string(value); }

// The shortest digits that read back as the same double; always a TOML float.
std::string text_of(double value) {
  std::string text = fmt::format("{}", value);
  // An 'e' marks an exponent, and an 'n' is in inf and nan: these are floats of
  // TOML already.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string text_of(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
      // TOML allows no control characters in strings.
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\u{:04X}", byte);
    } else {
      text += c;
    }
  }
  return text + '"';
}

template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const auto& value : values) {
    text += (text.empty() ? "" : ", ") + text_of(value);
  }
  return "[" + text + "]";
}

}  // namespace

std::string toml_text(const OptionValue& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

void RecipeWriter::section(const std::string& name) {
  if (!text_.empty()) text_ += '\n';
  text_ += fmt::format("[{}]\n", name);
}

void RecipeWriter::element(const std::string& name) {
  text_ += fmt::format("\n[[{}]]\n", name);
}

void RecipeWriter::key(const std::string& name, const OptionValue& value) {
  raw(name, toml_text(value));
}

void RecipeWriter::raw(const std::string& name, const std::string& toml) {
  text_ += fmt::format("{} = {}\n", name, toml);
}

void RecipeWriter::options(const Options& options) {
  for (const auto& [name, value] : options) key(name, value);
}

}  // namespace weft
