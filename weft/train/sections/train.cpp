#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/section_def.h"

namespace weft {
namespace {

const Fields<TrainRecipe>& train_fields() {
  using R = TrainRecipe;
  static const Fields<R> fields{
      field<&R::epochs>("epochs", "passes over the data",
                        {.range = {.least = 1, .most = kMostCount}}),
      // Up to 2^24 hits of a batch are counted exactly in f32 (step/hits.h).
      field<&R::batch>("batch", "examples of a step, of all workers together",
                       {.range = {.least = 1, .most = 16777216}}),
      field<&R::dtype>("dtype", "what heavy layers compute in",
                       {.choices = {"f32", "bf16"}}),
      field<&R::seed>("seed", "of weights, order and all that is drawn",
                      {.range = {.least = 0}}),
      field<&R::eval_every>(
          "eval_every", "between two measurements",
          {.range = {.least = 1, .most = kMostCount}, .unit = "epochs"}),
      field<&R::checkpoint_every>(
          "checkpoint_every",
          "between two checkpoints; 0: one after each epoch",
          {.range = {.least = 0, .most = kMostCount}, .unit = "steps"}),
      field<&R::patience>(
          "patience", "without a better one after which the run ends; 0: none",
          {.range = {.least = 0, .most = kMostCount}, .unit = "epochs"}),
      field<&R::max_steps>(
          "max_steps", "after which the run ends; 0: as the epochs say",
          {.range = {.least = 0, .most = kMostCount}, .unit = "steps"}),
      field<&R::steps>(
          "steps", "of each example, for running text",
          {.range = {.least = 1, .most = 1048576}, .unit = "words"}),
      field<&R::drop_last>("drop_last",
                           "leave out a last batch that is not full"),
      field<&R::check_numerics>(
          "check_numerics",
          "name the op in which NaN or infinity appears (slow)"),
      field<&R::memory>(
          "memory",
          "that the values of a step may take, beside parameters and results: "
          "what would be kept for long is computed again; 0: any",
          {.range = {.least = 0, .most = 1e15}, .unit = "bytes"}),
      field<&R::max_frames>(
          "max_frames",
          "activations that may be alive at once, where a model branches, "
          "loops or calls itself",
          {.range = {.least = 1}}),
      field<&R::recursion_workers>(
          "recursion_workers",
          "threads that compute such a model; 0: as many as pay",
          {.range = {.least = 0, .most = 4096}}),
      field<&R::batching>(
          "batching",
          "whether one step is computed for many activations at once",
          {.choices = {"auto", "always", "never"}})};
  return fields;
}

}  // namespace

void register_recipe_section_train(RecipeSectionRegistry& sections) {
  sections.add({.name = "train",
                .summary = "how long and how it is trained",
                .place = 50,
                .options = specs_of(train_fields()),
                .read =
                    [](SectionReader& section, Recipe& recipe) {
                      read_fields(section, train_fields(), recipe.train);
                    },
                .write =
                    [](const Recipe& recipe, RecipeWriter& out) {
                      write_fields(recipe.train, train_fields(), out);
                    }});
}

}  // namespace weft
