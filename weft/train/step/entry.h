// The entries of a training step: everything that a step reads or writes, by
// name and by the part that it plays. What is trained, saved, resumed,
// exchanged and exported follows from the roles, and nothing else lists
// tensors.
//
// Threads: value types.
#pragma once

#include <string>

#include "weft/nn/module.h"
#include "weft/tensor/tensor.h"

namespace weft {

enum class EntryRole {
  // The model's, as nn::Role has them.
  kParameter,  // trained: it has a gradient
  kFrozen,
  kMask,
  kStatistic,
  kCarried,
  // The optimizer's.
  kSlot,
  // What each run is told.
  kKey,         // i64[2]: what dropout draws from
  kRate,        // f32[]: the learning rate
  kNumber,      // f64[]: of the step, from 1
  kLate,        // f64[]: updates by which gradients are late
  kLossWeight,  // f32[]: what gradients are scaled by
  // In private training (step_options.h), f64[2]: examples that count, as rows
  // behind them fill up the batch, and the place of the first of them in the
  // batch of all workers.
  kPresent,
  kInput,  // a tensor of the batch
  // What a run tells.
  kMeasure,   // f32[] or f32[size]: a sum or a count of the objective
  kGradient,  // of the parameter of that name
  // In private training, i64[]: the place of the first example that counts and
  // whose gradients are not finite; -1 where there is none.
  kBroken,
};

struct Entry {
  // "fc1.weight", "optimizer.velocity.fc1.weight", "image", "loss.sum".
  std::string name;
  EntryRole role;
  // Dims may be symbols where batches have any size.
  TensorType type;
  // The memory that runs read and write, shared by all steps of a description;
  // undefined for inputs, which come with each run.
  Tensor memory;
};

// The role that a model's parameter plays.
EntryRole role_of(const nn::Parameter& parameter);
// Whether a checkpoint holds it.
bool is_state(EntryRole role);

}  // namespace weft
