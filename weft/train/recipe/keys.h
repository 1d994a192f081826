// All keys that recipes may have and all that their values may call, as
// sections and registries declare them: for help and documentation.
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

// An entry of a registry that a value may call: "qsgd(7)" as sync.codec.
struct RecipeCall {
  std::string key;  // the path of the first key whose value may
  EntryOptions entry;
  const CallKind* kind = nullptr;  // whose canonical reads its text

  // Leaves out what it stands in: "qsgd" of "value:qsgd", "ball" of
  // "project(ball)".
  std::string_view name() const;
};

// They come in the order of the sections.
std::vector<RecipeKey> recipe_keys();
// They come in the order of the keys; of entries with options that call others,
// these follow.
std::vector<RecipeCall> recipe_calls();

struct RecipeHelp {
  std::vector<RecipeKey> keys;
  std::vector<RecipeCall> calls;
};
// What is called so: the keys of a section ("train"), with the tables in it, or
// of an entry that [section] names ("adam"); a key by its path ("train.batch")
// or its name ("codec"), of which there may be several; what may be called, by
// name ("qsgd") or kind ("all_reduce", "value codec"). Throws
// Error(kInvalidArgument) with the nearest name if nothing is.
RecipeHelp recipe_help(std::string_view what);

// "integer, at least 1, in steps": what a value may be.
std::string allowed_text(const OptionSpec& spec);

}  // namespace weft
