#include "weft/train/hooks/trace.h"

#include "weft/train/recipe/section_def.h"

namespace weft {

void register_recipe_section_trace(RecipeSectionRegistry& sections) {
  sections.add(
      {.name = "trace",
       .summary = "where the time of a run goes",
       .place = 80,
       .options = {{.name = "file",
                    .value = std::string(),
                    .summary = "in the run's folder, for chrome://tracing or "
                               "Perfetto; empty: none"},
                   {.name = "steps",
                    .value = std::int64_t{1000},
                    .summary =
                        "that are written, from the first one on; 0: all",
                    .range = {.least = 0, .most = kMostCount}}},
       .hook = [](const Options& options) -> std::unique_ptr<TrainHook> {
         const auto& file = option<std::string>(options, "file");
         // Without a file no step pays for tracing.
         if (file.empty()) return nullptr;
         return std::make_unique<TraceHook>(
             file, option<std::int64_t>(options, "steps"));
       }});
}

}  // namespace weft
