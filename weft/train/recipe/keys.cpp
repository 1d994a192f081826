#include "weft/train/recipe/keys.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/train/recipe/section_def.h"

namespace weft {

std::vector<RecipeKey> recipe_keys() {
  std::vector<RecipeKey> keys;
  for (const RecipeSectionDef* def : sections_in_order()) {
    for (const OptionSpec& spec : def->options) {
      keys.push_back({def->name, "", spec});
    }
    if (def->entries == nullptr) continue;
    for (const EntryOptions& entry : def->entries()) {
      for (const OptionSpec& spec : entry.options) {
        keys.push_back({def->name, entry.entry, spec});
      }
    }
  }
  return keys;
}

std::vector<RecipeKey> recipe_keys(std::string_view what) {
  std::vector<RecipeKey> found;
  std::vector<std::string> known;
  for (RecipeKey& key : recipe_keys()) {
    known.push_back(key.path());
    if (std::ranges::find(known, key.section) == known.end()) {
      known.push_back(key.section);
    }
    if (key.section == what || key.path() == what) {
      found.push_back(std::move(key));
    }
  }
  if (!found.empty()) return found;
  const std::string near = nearest(what, known);
  throw Error(ErrorCode::kInvalidArgument, "--help",
              "recipes have no key '{}'{}", what,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

std::string allowed_text(const OptionSpec& spec) {
  std::string text(kind_of(spec.value));
  if (!spec.choices.empty()) {
    text = fmt::format("{}", fmt::join(spec.choices, ", "));
  }
  if (const std::string range = to_string(spec.range); !range.empty()) {
    text += ", " + range;
  }
  return spec.unit.empty() ? text : text + ", in " + spec.unit;
}

}  // namespace weft
