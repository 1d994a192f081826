#include "weft/train/hooks/tensorboard.h"

#include "weft/train/recipe/section_def.h"

namespace weft {

void register_recipe_section_tensorboard(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "tensorboard",
       .summary = "what TensorBoard shows of a run",
       .place = 85,
       .options = {{.name = "folder",
                    .value = std::string(),
                    .summary = "in the run's folder, for tensorboard --logdir; "
                               "empty: none"},
                   {.name = "every",
                    .value = std::int64_t{100},
                    .summary = "steps between scalars; 0: by epochs alone",
                    .range = {.least = 0, .most = kMostCount}},
                   {.name = "histograms",
                    .value = true,
                    .summary = "of parameters, and of what the optimizer keeps "
                               "of gradients, in each epoch"},
                   {.name = "gradients",
                    .value = true,
                    .summary = "distributions of the gradients of each epoch's "
                               "last step, which is computed once more for "
                               "them and summed over all workers; none in "
                               "private training and of a simulated cluster"},
                   {.name = "images",
                    .value = std::int64_t{4},
                    .summary = "of the first batch that are shown",
                    .range = {.least = 0, .most = 64}}},
       .hook = [](const Options& options) -> std::unique_ptr<TrainHook> {
         const auto& folder = option<std::string>(options, "folder");
         if (folder.empty()) return nullptr;
         return std::make_unique<TensorBoardHook>(TensorBoardOptions{
             .folder = folder,
             .every = option<std::int64_t>(options, "every"),
             .with_histograms = option<bool>(options, "histograms"),
             .with_gradients = option<bool>(options, "gradients"),
             .images = option<std::int64_t>(options, "images")});
       }});
}

}  // namespace weft
