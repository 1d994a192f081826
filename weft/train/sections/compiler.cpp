#include "weft/compiler/batch_norm_form.h"
#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/section_def.h"

namespace weft {
namespace {

const Fields<CompilerRecipe>& compiler_fields() {
  using R = CompilerRecipe;
  static const Fields<R> fields{
      field<&R::search>(
          "search",
          "for substitutions that make a step faster, by measured cost: greedy "
          "takes none that makes it slower for a while",
          {.choices = {"none", "greedy", "relaxed"}}),
      field<&R::alpha>("alpha",
                       "how many times the best cost a graph on the way may "
                       "have, in a relaxed search",
                       {.range = {.least = 1, .most = 100}}),
      field<&R::budget>("budget", "graphs of each part that are looked into",
                        {.range = {.least = 1, .most = 1 << 24}}),
      field<&R::search_seconds>("search_seconds",
                                "after which the best that was found is taken",
                                {.range = kPositive, .unit = "seconds"}),
      field<&R::batch_norm>(
          "batch_norm",
          "how far batch norm in training is fused with what is around it: "
          "auto fuses all where that saves time; none, rcf, mvf, bnff and icf "
          "each fuse more than the one before",
          {.choices = batch_norm_form_names()})};
  return fields;
}

}  // namespace

void register_recipe_section_compiler(RecipeSectionRegistry& sections) {
  sections.add({.name = "compiler",
                .summary = "what the compiler does beyond its passes",
                .place = 55,
                .options = specs_of(compiler_fields()),
                .read =
                    [](SectionReader& section, Recipe& recipe) {
                      read_fields(section, compiler_fields(), recipe.compiler);
                    },
                .write =
                    [](const Recipe& recipe, RecipeWriter& out) {
                      write_fields(recipe.compiler, compiler_fields(), out);
                    }});
}

}  // namespace weft
