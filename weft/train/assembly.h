// A recipe turned into things: the data opened, the task, the model built to
// fit both, the optimizer.
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

// What a program has made itself, to stand in for what a recipe says, which may
// be "object" there. Null: as the recipe has it.
struct GivenObjects {
  // Built, not initialized. Views and what is frozen are the recipe's.
  std::shared_ptr<nn::Module> model = nullptr;
  std::shared_ptr<const TrainingData> data = nullptr;  // step/loaded_data.h
  // Wrapped and grouped already; rate and clipping are the recipe's.
  std::shared_ptr<const Optimizer> optimizer = nullptr;
};

struct Assembly {
  std::unique_ptr<TrainingTask> task;
  std::shared_ptr<const TrainingData> data;
  std::shared_ptr<nn::Module> model;  // not initialized
  std::shared_ptr<const Optimizer> optimizer;

  // The data that decide which weights are best: validation, else test.
  DataPart held_out() const {
    return data->has(DataPart::kValid) ? DataPart::kValid : DataPart::kTest;
  }
};

// The model of one of `workers`, each with its part of the lanes of running
// text. Throws Error(kInvalidArgument), with the place in the recipe, when
// task, model and data do not suit each other, or views and groups of
// parameters the model, Error(kUnsupported) for an object that was not given,
// and whatever opening the data throws.
// `sampling` draws the batches of the training part.
Assembly assemble(const Recipe& recipe, int workers = 1,
                  const GivenObjects& given = {},
                  const std::optional<PoissonSampling>& sampling = {});

// How the batches of a recipe are made, for data that a program opens.
DataOptions data_options(const Recipe& recipe, int workers = 1);
// The data alone, for several assemblies. `makes_ahead` as in DataOptions.
std::shared_ptr<const TrainingData> open_data(
    const Recipe& recipe, int workers = 1, bool makes_ahead = true,
    const std::optional<PoissonSampling>& sampling = {});
// Whether open_data() opens the same for both.
bool have_same_data(const Recipe& a, const Recipe& b);

// How steps compute, by the recipe; a model that branches, loops or calls
// itself included.
StepOptions step_options(const Recipe& recipe);

}  // namespace weft
