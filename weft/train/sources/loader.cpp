// Data sets, read by index and shuffled.
#include "weft/data/fetch.h"
#include "weft/train/step/loaded_data.h"

namespace weft {

void register_batch_source_loader(BatchSourceRegistry& sources) {
  sources.add(
      {.name = "loader",
       .summary = "examples of a data set, shuffled anew in each epoch",
       .options =
           [](const std::string& name) {
             return dataset_registry().get(name).options;
           },
       .names = [] { return names_of(dataset_registry()); },
       .open = [](const DataOptions& options) -> std::unique_ptr<TrainingData> {
         return loaded_data(open_data({.name = options.name,
                                       .folder = options.folder,
                                       .batch = options.batch,
                                       .steps = options.steps,
                                       .options = options.own}),
                            options);
       }});
}

}  // namespace weft
