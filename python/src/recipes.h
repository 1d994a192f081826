// What weft.train is given and gives: recipes, models, metrics by name.
//
// Threads: with the GIL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python/src/bind.h"

#include "weft/nn/module.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/metrics.h"

namespace weft::python {

using Overrides = std::vector<std::string>;  // "train.epochs=5"

// From a path, or from a text, which has several lines. Throws as
// load_recipe().
Recipe recipe_from(const std::string& source, const Overrides& overrides);

// A weft.nn.Module for C++ to train, null for None. One that is written in
// Python is called through a layer, below which it is "model". Throws
// Error(kInvalidArgument) for anything else.
std::shared_ptr<nn::Module> model_from(const py::object& model);

py::dict from_scores(const Scores& scores);

void bind_step(py::module_& train);

}  // namespace weft::python
