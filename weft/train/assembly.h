// A recipe turned into things: the data opened, the task, the model built to
// fit both.
//
// Threads: caller synchronises.
#pragma once

#include <memory>

#include "weft/nn/model.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/step_options.h"
#include "weft/train/step/training_data.h"
#include "weft/train/step/training_task.h"

namespace weft {

struct Assembly {
  std::unique_ptr<TrainingTask> task;
  std::unique_ptr<TrainingData> data;
  std::shared_ptr<nn::Module> model;  // not initialized

  // The data that decide which weights are best: validation, else test.
  DataPart held_out() const {
    return data->has(DataPart::kValid) ? DataPart::kValid : DataPart::kTest;
  }
};

// The model of one of `workers`, each with its part of the lanes of running
// text; a `model` that is given stands in for the recipe's. Throws
// Error(kInvalidArgument) when task, model and data do not suit each other, and
// whatever opening the data throws.
Assembly assemble(const Recipe& recipe, int workers = 1,
                  std::shared_ptr<nn::Module> model = nullptr);

// How steps compute, by the recipe; a model that branches, loops or calls
// itself included.
StepOptions step_options(const Recipe& recipe);

}  // namespace weft
