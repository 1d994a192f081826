#include "weft/validation/schema_diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "weft/validation/schema_text.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// Lists stand on several lines in a schema, and on one here.
std::string on_one_line(std::string text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') continue;
    if (c != ' ' || line.empty() || line.back() != ' ') line += c;
  }
  return shown_text(line, 160);
}

std::string joined(const std::set<std::string>& texts) {
  constexpr std::size_t kMostShown = 8;
  std::string line;
  std::size_t count = 0;
  for (const std::string& text : texts) {
    if (++count > kMostShown) {
      return line + fmt::format(", … ({} in all)", texts.size());
    }
    line += (line.empty() ? "" : ", ") + toml_string(shown_text(text, 60));
  }
  return line;
}

}  // namespace

std::string list_diff_text(const std::string& key,
                           const std::vector<std::string>& before,
                           const std::vector<std::string>& after) {
  const std::set<std::string> old_values(before.begin(), before.end());
  const std::set<std::string> new_values(after.begin(), after.end());
  std::set<std::string> added;
  std::set<std::string> removed;
  std::ranges::set_difference(new_values, old_values,
                              std::inserter(added, added.end()));
  std::ranges::set_difference(old_values, new_values,
                              std::inserter(removed, removed.end()));
  std::string text;
  if (!added.empty()) text += fmt::format("{} += {}\n", key, joined(added));
  if (!removed.empty()) text += fmt::format("{} -= {}\n", key, joined(removed));
  if (text.empty() && before.size() != after.size()) {
    text = fmt::format("{} without repetitions\n", key);
  }
  return text;
}

std::string diff_text(const std::optional<FeatureRule>& before,
                      const FeatureRule& after) {
  const SchemaSection now = section_of(after);
  const std::string prefix = "feature." + toml_key(after.name);
  std::string text;
  if (!before) {
    text = "+ " + heading_of(now) + "\n";
    for (const auto& [key, value] : now.keys) {
      text += fmt::format("+ {} = {}\n", key, on_one_line(value));
    }
    return text;
  }
  std::map<std::string, std::string> old_keys;
  for (const auto& [key, value] : section_of(*before).keys) {
    old_keys[key] = value;
  }
  for (const auto& [key, value] : now.keys) {
    const auto found = old_keys.find(key);
    const std::string path = fmt::format("{}.{}", prefix, key);
    if (found == old_keys.end()) {
      text += fmt::format("{} = {}\n", path, on_one_line(value));
    } else if (found->second != value && key == "values") {
      text += list_diff_text(path, *before->values, *after.values);
    } else if (found->second != value) {
      text += fmt::format("{} = {} → {}\n", path, on_one_line(found->second),
                          on_one_line(value));
    }
    if (found != old_keys.end()) old_keys.erase(found);
  }
  for (const auto& [key, value] : old_keys) {
    text += fmt::format("{}.{} is dropped\n", prefix, key);
  }
  return text;
}

}  // namespace weft::validation
