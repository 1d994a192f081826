#include "weft/train/recipe/keys.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/train/recipe/section_def.h"

namespace weft {

std::vector<RecipeKey> recipe_keys() {
  std::vector<RecipeKey> keys;
  const auto append = [&](const std::string& section, const std::string& entry,
                          const std::vector<OptionSpec>& options) {
    for (const OptionSpec& spec : options) {
      keys.push_back({section, entry, spec});
    }
  };
  for (const RecipeSectionDef* def : sections_in_order()) {
    append(def->name, "", def->options);
    if (def->entries != nullptr) {
      for (const EntryOptions& entry : def->entries()) {
        append(def->name, entry.entry, entry.options);
      }
    }
    for (const SectionTables& tables : def->tables) {
      append(def->name + "." + tables.key, "", tables.options);
    }
  }
  return keys;
}

std::vector<RecipeKey> recipe_keys(std::string_view what) {
  std::vector<RecipeKey> found;
  std::vector<std::string> known;
  for (RecipeKey& key : recipe_keys()) {
    known.push_back(key.path());
    // A section is known once, however many keys it has.
    if (std::ranges::find(known, key.section) == known.end()) {
      known.push_back(key.section);
    }
    if (key.section == what || key.path() == what ||
        key.section.starts_with(std::string(what) + ".")) {
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
