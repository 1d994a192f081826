#include "weft/nn/model.h"
#include "weft/train/recipe/entries.h"
#include "weft/train/step/training_task.h"

namespace weft {

void register_recipe_section_task(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "task",
       .summary = "what the model is trained for",
       .place = 20,
       .options = {{"name", std::string(),
                    "of the task; the model's own if it is not given"}},
       .entries = [] { return entries_of(training_task_registry()); },
       .read =
           [](SectionReader& section, Recipe& recipe) {
             TaskRecipe& task = recipe.task;
             // The model is read before (place 10), so that its own task is
             // known; one that a program gives has that of most.
             task.name = recipe.model.name == kGivenObject
                             ? ModelDef().task
                             : model_registry().get(recipe.model.name).task;
             const TrainingTaskDef& def =
                 read_entry(section, training_task_registry(), task.name);
             task.options = section.read_options(def.options);
             // The task knows the ranges of its options; it is made to be
             // asked, and made again for training.
             section.blame("", [&] { def.make(task.options); });
           },
       .write =
           [](const Recipe& recipe, RecipeWriter& out) {
             out.key("name", recipe.task.name);
             out.options(recipe.task.options);
           }});
}

}  // namespace weft
