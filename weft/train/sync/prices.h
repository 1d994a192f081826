// What computing of a worker costs on this machine, measured for simulated
// workers that are charged for it.
//
// Threads: caller synchronises.
#pragma once

#include <span>

#include "weft/data/batch_source.h"
#include "weft/optim/optimizer.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/simulate/computing.h"
#include "weft/train/step/step.h"
#include "weft/train/sync/roles.h"

namespace weft {

// Measures a step's forward and backward pass on this batch: the median of some
// runs, or one.
// `state` is what runs change beside gradients; it is as before afterwards.
// Takes a second, or one run where that takes longer.
StepPrice measure_step(Step& backward, const Batch& batch,
                       std::span<const NamedTensor> state,
                       std::size_t parameters, MeasuredRuns runs);

// Measures the codec of a recipe, for gradients of one of so many workers, its
// aggregation rule, for those of all of them, and an optimizer, on copies of
// the parameters. Takes tenths of a second.
SyncPrice measure_sync(const SyncRecipe& recipe, const Roles& roles,
                       const Optimizer& optimizer,
                       std::span<const NamedTensor> trainable);

}  // namespace weft
