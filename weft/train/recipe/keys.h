// All keys that recipes may have, as their sections and registries declare
// them: for help and documentation.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/train/recipe/section_def.h"

namespace weft {

struct RecipeKey {
  // "optimizer"; "optimizer.groups" for a list of tables within it.
  std::string section;
  // The entry that it belongs to, where [section] names that: "momentum";
  // empty for keys that are always there.
  std::string entry;
  OptionSpec spec;

  std::string path() const { return section + "." + spec.name; }
};

// In the order of the sections.
std::vector<RecipeKey> recipe_keys();
// Those of a section ("train") with the tables in it, or of that path
// ("train.batch"), which several entries may have. Throws
// Error(kInvalidArgument) with the nearest one.
std::vector<RecipeKey> recipe_keys(std::string_view what);

// "integer, at least 1, in steps": what a value may be.
std::string allowed_text(const OptionSpec& spec);

}  // namespace weft
