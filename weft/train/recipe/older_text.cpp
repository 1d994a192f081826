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

// It alone had a list; brackets and commas between options are of today.
std::string with_commas(std::string_view text) {
  const std::size_t begin = text.find('(') + 1;
  std::string_view rest = text.substr(begin, text.size() - begin - 1);
  std::string options;
  while (!rest.empty()) {
    const std::size_t space = rest.find(' ');
    const std::string_view word = rest.substr(0, space);
    rest.remove_prefix(space == rest.npos ? rest.size() : space + 1);
    if (word.empty()) continue;
    if (!options.empty()) options += ", ";
    options += option_of_today(word);
  }
  return fmt::format("{}{})", text.substr(0, begin), options);
}

std::string with_list_of_stages(std::string text) {
  constexpr std::string_view kOption = "stage=";
  const std::size_t option = text.find(kOption);
  if (option == text.npos) return text;
  const std::size_t begin = option + kOption.size();
  const std::size_t end = text.find_first_of(",)", begin);
  if (text[begin] == '[' || begin == end) return text;
  return fmt::format("{}[{}]{}", text.substr(0, begin),
                     text.substr(begin, end - begin), text.substr(end));
}

}  // namespace

std::string collective_of_today(std::string_view text) {
  constexpr std::string_view kBegin = "blueconnect(";
  if (!text.starts_with(kBegin) || !text.ends_with(')')) {
    return std::string(text);
  }
  const bool has_commas =
      text.find('[') != text.npos || text.find(", ") != text.npos;
  return with_list_of_stages(has_commas ? std::string(text)
                                        : with_commas(text));
}

}  // namespace weft
