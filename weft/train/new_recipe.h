// A first recipe for data that somebody has: what they are is found by looking
// at them, and what is usual for such data is written down, to be changed.
//
// Threads: pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

struct NewRecipe {
  std::string text;  // TOML, with comments
  // What was found, and what was chosen for it, in lines for people.
  std::vector<std::string> findings;
};

// `data` is a folder of pictures in a folder per class, a CSV file, a text
// file, or the folder of a data set that a reader knows. The recipe was read
// and assembled once, so that it trains. Throws Error(kUnavailable) for nothing
// that a reader knows, Error(kUnsupported) for data that no usual model takes,
// and what reading the data throws.
NewRecipe new_recipe(const std::filesystem::path& data);

}  // namespace weft
