// What weft.train is given and gives: recipes, objects, metrics by name.
//
// Threads: with the GIL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python/src/bind.h"

#include "weft/optim/variable_updater.h"
#include "weft/train/assembly.h"
#include "weft/train/step/metrics.h"

namespace weft::python {

using Overrides = std::vector<std::string>;  // "train.epochs=5"

// From a path, from a text, which has several lines, or, from None, the recipe
// of objects alone. Throws as load_recipe().
Recipe recipe_from(const py::object& source, const Overrides& overrides);

// A weft.nn.Module for C++ to train, null for None. One that is written in
// Python is called through a layer, below which it is "model". Throws
// Error(kInvalidArgument) for anything else.
std::shared_ptr<nn::Module> model_from(const py::object& model);

// A weft.train.Data, null for None; batches are made as the recipe says. Throws
// Error(kInvalidArgument) for anything else.
std::shared_ptr<const TrainingData> data_from(const py::object& data,
                                              const Recipe& recipe);

// The formula of a weft.optim.Optimizer, or of what has update(); null for
// None. Throws Error(kInvalidArgument) for anything else.
std::shared_ptr<const Optimizer> optimizer_from(const py::object& optimizer);
// What a weft.optim.Optimizer changes its variables by; it belongs to that.
// Throws Error(kInvalidArgument) for anything else.
VariableUpdater& updater_from(const py::object& optimizer);
// What has update(), as weft.train.Trainer says it.
std::shared_ptr<const Optimizer> called_optimizer(const py::object& optimizer);

// Objects in place of what the recipe says; each may be None.
GivenObjects given_from(const Recipe& recipe, const py::object& model,
                        const py::object& data, const py::object& optimizer);

py::dict from_scores(const Scores& scores);

void bind_step(py::module_& train);
void bind_private_optimizer(py::module_& optim);

}  // namespace weft::python
