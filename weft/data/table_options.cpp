#include "weft/data/table_options.h"

#include <fmt/ranges.h>

namespace weft {
namespace {

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

std::vector<OptionSpec> table_option_specs(const TableOptions& defaults) {
  return {
      {"label", joined(defaults.label),
       "column to tell; several by comma, or COLUMN=VALUE: whether each is so"},
      {"numbers", joined(defaults.numbers),
       "columns that are numbers, whatever they look like"},
      {"categories", joined(defaults.categories),
       "columns that are categories, whatever they look like"},
      {"ignore", joined(defaults.ignore),
       "columns that the model must not see"},
      {"standardize", defaults.standardize,
       "numbers to mean 0 and deviation 1, by the training part"}};
}

TableOptions table_options(const Options& options, TableOptions known) {
  const auto list = [&](const char* name) {
    return listed(option<std::string>(options, name));
  };
  known.label = list("label");
  known.numbers = list("numbers");
  known.categories = list("categories");
  known.ignore = list("ignore");
  known.standardize = option<bool>(options, "standardize");
  return known;
}

}  // namespace weft
