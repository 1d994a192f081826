// Writes the canonical TOML of a recipe. Keys are written whether they were
// given or not, so that the recipe in a checkpoint keeps its meaning if a
// default changes.
//
// Threads: caller synchronises.
#pragma once

#include <string>

#include "weft/base/options.h"

namespace weft {

class RecipeWriter {
 public:
  void section(const std::string& name);
  // The next element of a list of tables.
  void element(const std::string& name);
  void key(const std::string& name, const OptionValue& value);
  // A value that is TOML already.
  void raw(const std::string& name, const std::string& toml);
  void options(const Options& options);

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Writes TOML: numbers in the shortest digits that read back as the same.
std::string toml_text(const OptionValue& value);

}  // namespace weft
