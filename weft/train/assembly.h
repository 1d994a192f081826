// A recipe turned into things: the data opened, the model built to fit it.
//
// Threads: caller synchronises.
#pragma once

#include <memory>
#include <string>

#include "weft/data/dataset.h"
#include "weft/data/loader.h"
#include "weft/nn/model.h"
#include "weft/runtime/tagged/executor.h"
#include "weft/train/recipe.h"

namespace weft {

struct Assembly {
  DatasetSplits data;
  TaskKind task = TaskKind::kClassification;
  std::unique_ptr<nn::Layer> model;  // not initialized

  // The data that decides which weights are best: validation, else test.
  const DatasetRef& held_out() const {
    return data.valid ? data.valid : data.test;
  }
};

// The model of one of `workers`, each with its part of the lanes of running
// text. Throws Error(kInvalidArgument) when the model does not suit the data,
// and whatever opening the data throws.
Assembly assemble(const Recipe& recipe, int workers = 1);

// How the model is run if it branches, loops or calls itself.
TaggedOptions tagged_options(const TrainRecipe& train);

// How `data` is read, for training and for measuring.
LoaderOptions train_loading(const Recipe& recipe, const Dataset& data);
LoaderOptions eval_loading(const Recipe& recipe);

}  // namespace weft
