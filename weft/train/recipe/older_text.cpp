#include "weft/train/recipe/older_text.h"

#include <algorithm>
#include <fmt/core.h>

namespace weft {
namespace {

bool is_list(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](char c) {
    return (c >= '0' && c <= '9') || c == ',';
  });
}

// "4,8", "factors=4,8": with the brackets that the list lacks.
std::string option_of_today(std::string_view word) {
  const std::size_t equals = word.find('=');
  const bool is_named = equals != word.npos;
  if (is_named && word.substr(0, equals) != "factors") return std::string(word);
  const std::size_t begin = is_named ? equals + 1 : 0;
  const std::string_view value = word.substr(begin);
  if (!is_list(value)) return std::string(word);
  return fmt::format("{}[{}]", word.substr(0, begin), value);
}

}  // namespace

std::string collective_of_today(std::string_view text) {
  constexpr std::string_view kBegin = "blueconnect(";
  // It alone had a list; brackets and commas between options are of today.
  if (!text.starts_with(kBegin) || !text.ends_with(')') ||
      text.find('[') != text.npos || text.find(", ") != text.npos) {
    return std::string(text);
  }
  std::string_view rest =
      text.substr(kBegin.size(), text.size() - kBegin.size() - 1);
  std::string options;
  while (!rest.empty()) {
    const std::size_t space = rest.find(' ');
    const std::string_view word = rest.substr(0, space);
    rest.remove_prefix(space == rest.npos ? rest.size() : space + 1);
    if (word.empty()) continue;
    if (!options.empty()) options += ", ";
    options += option_of_today(word);
  }
  return fmt::format("{}{})", kBegin, options);
}

}  // namespace weft
