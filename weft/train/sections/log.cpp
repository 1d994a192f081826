#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/section_def.h"

namespace weft {
namespace {

const Fields<LogRecipe>& log_fields() {
  static const Fields<LogRecipe> fields{field<&LogRecipe::folder>(
      "folder", "of checkpoints and metrics; empty: runs/RECIPE")};
  return fields;
}

}  // namespace

void register_recipe_section_log(RecipeSectionRegistry& sections) {
  sections.add({.name = "log",
                .summary = "what is kept of a run",
                .place = 70,
                .options = specs_of(log_fields()),
                .read =
                    [](SectionReader& section, Recipe& recipe) {
                      read_fields(section, log_fields(), recipe.log);
                    },
                .write =
                    [](const Recipe& recipe, RecipeWriter& out) {
                      write_fields(recipe.log, log_fields(), out);
                    }});
}

}  // namespace weft
