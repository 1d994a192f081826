#include "weft/nn/model.h"

#include "weft/train/recipe/entries.h"

namespace weft {

void register_recipe_section_model(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "model",
       .summary = "the network, with options of its own",
       .place = 10,
       .options = {{"name", std::string(), "of the model: see weft inspect"}},
       .entries = [] { return entries_of(model_registry()); },
       .read =
           [](SectionReader& section, Recipe& recipe) {
             // The model declares its options: until its name is known, no key
             // of the section can be called unknown.
             const ModelDef& def =
                 read_entry(section, model_registry(), recipe.model.name);
             recipe.model.options = section.read_options(def.options);
           },
       .write =
           [](const Recipe& recipe, RecipeWriter& out) {
             out.key("name", recipe.model.name);
             out.options(recipe.model.options);
           }});
}

}  // namespace weft
