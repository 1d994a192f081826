// The sections of a recipe, as a registry: what each is called, which keys it
// has, of which type, range and default, and what they mean. Reading, refusing,
// the text in checkpoints, `weft train --help KEY` and the tables of the
// documentation all come from here.
//
// A new section is one file in weft/train/sections.
//
// Threads: immutable after freeze(); recipe_section_registry() is safe
// anywhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/recipe/recipe_writer.h"
#include "weft/train/recipe/section_reader.h"
#include "weft/train/step/train_hook.h"

namespace weft {

// A list of tables within a section: [[model.views]].
struct SectionTables {
  std::string key;                  // "views"
  std::vector<OptionSpec> options;  // of each table
};

struct RecipeSectionDef {
  std::string name;
  std::string summary;
  // Sections are read and written by this number, so that one may look at what
  // those before it have said.
  int place = 100;
  // The keys that are always there.
  std::vector<OptionSpec> options = {};
  // Those that entries of a registry add, which `name` chooses: [model] has the
  // options of the model. Null: none.
  std::vector<EntryOptions> (*entries)() = nullptr;
  std::vector<SectionTables> tables = {};
  // They go from the file into `recipe` and back. Null: the options go into
  // Recipe::more. read() asks for all keys; what it does not ask for is
  // refused.
  void (*read)(SectionReader& section, Recipe& recipe) = nullptr;
  void (*write)(const Recipe& recipe, RecipeWriter& out) = nullptr;
  // What a run does by the options in Recipe::more, behind the trainer's own
  // hooks; null, or a null result: nothing.
  std::unique_ptr<TrainHook> (*hook)(const Options& options) = nullptr;
};

using RecipeSectionRegistry = Registry<RecipeSectionDef>;
// It is filled from the files of weft/train/sections.
const RecipeSectionRegistry& recipe_section_registry();

// All of them in the order of their places.
std::vector<const RecipeSectionDef*> sections_in_order(
    const RecipeSectionRegistry& sections = recipe_section_registry());

// What the sections of `recipe` do in a run, in their order. Throws
// Error(kInvalidArgument) for options that a section refuses.
std::vector<std::unique_ptr<TrainHook>> section_hooks(
    const Recipe& recipe,
    const RecipeSectionRegistry& sections = recipe_section_registry());

}  // namespace weft
