#include "weft/train/recipe/fields.h"
#include "weft/train/recipe/section_def.h"

namespace weft {
namespace {

const Fields<PrivacyRecipe>& privacy_fields() {
  using R = PrivacyRecipe;
  static const Fields<R> fields{
      field<&R::epsilon>("epsilon",
                         "of the guarantee that noise is found for; 0: noise "
                         "is given, or training is not private",
                         {.range = {.least = 0, .most = 1000}}),
      field<&R::delta>("delta", "of the guarantee, below 1 / examples",
                       {.range = {.least = 1e-300, .most = 0.1}}),
      field<&R::noise>("noise",
                       "its standard deviation, in clip_norms; 0: what epsilon "
                       "takes",
                       {.range = {.least = 0, .most = 1e6}}),
      field<&R::clip_norm>("clip_norm",
                           "that the gradients of an example are clipped to",
                           {.range = kPositive}),
      field<&R::noise_on>(
          "noise_on",
          "what noise is added to where several workers train: once to the sum "
          "of all; by each worker a share of it to its own sum, before that "
          "leaves it; or by each worker all of it, so that every message is "
          "private by itself",
          {.choices = {"sum", "shares", "messages"}}),
      field<&R::accountant>("accountant",
                            "how what is given away is counted: rdp, or pld, "
                            "which takes less noise and a second",
                            {.choices = {"rdp", "pld"}}),
      field<&R::per_example>(
          "per_example",
          "how the gradients of each example are computed: many at once, or, "
          "for models of which that cannot be done, one after the other",
          {.choices = {"batched", "one by one"}}),
      field<&R::rows>("rows",
                      "of a batch that are computed at once; 0: all. A batch "
                      "of more is computed in parts",
                      {.range = {.least = 0, .most = 16777216}}),
      field<&R::ledger>("ledger",
                        "that grants the budget: a file, or postgresql://…; "
                        "empty: nobody is asked"),
      field<&R::blocks>("blocks",
                        "of the ledger that the training data are: names, or "
                        "patterns of them, with commas between"),
      field<&R::wait>("wait", "for a budget that is not there yet; 0: do not",
                      {.range = {.least = 0, .most = 1e9}, .unit = "seconds"})};
  return fields;
}

}  // namespace

void register_recipe_section_privacy(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "privacy",
       .summary = "what the model may tell of any example (DP-SGD)",
       .place = 52,
       .options = specs_of(privacy_fields()),
       .read =
           [](SectionReader& section, Recipe& recipe) {
             read_fields(section, privacy_fields(), recipe.privacy);
             if (recipe.privacy.epsilon > 0 && recipe.privacy.noise > 0) {
               throw Error(ErrorCode::kInvalidArgument, "privacy",
                           "both epsilon and noise are given, and each follows "
                           "from the other")
                   .hint("leave one of them out");
             }
             // Asked of nobody, a ledger would look as if it had granted.
             if (!recipe.privacy.is_on() && !recipe.privacy.ledger.empty()) {
               throw Error(ErrorCode::kInvalidArgument, "privacy.ledger",
                           "a ledger is named, and training is not private")
                   .hint("give privacy.epsilon or privacy.noise");
             }
           },
       .write =
           [](const Recipe& recipe, RecipeWriter& out) {
             write_fields(recipe.privacy, privacy_fields(), out);
           }});
}

}  // namespace weft
