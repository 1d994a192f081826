// What the training steps of one worker and of several have in common, as
// values of a function being built.
//
// Threads: as FunctionBuilder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/nn/model.h"
#include "weft/nn/staging.h"
#include "weft/optim/optimizer.h"
#include "weft/tensor/symbol.h"

namespace weft {

struct BackwardValues {
  Value loss;     // f32 scalar, the mean of the batch
  Value correct;  // f32 scalar
  // One for each trainable parameter, in the order of the model's parameters.
  std::vector<Value> gradients;
};

// Runs `model` on a batch, heavy layers in `dtype`, and differentiates
// loss × `weight`; without a weight (undefined), the loss. `key` is what
// dropout draws from.
BackwardValues stage_backward(nn::Layer& model, TaskKind task,
                              const nn::Staging& staged, const Value& key,
                              const Value& input, const Value& label,
                              DType dtype, const Value& weight = {});

// Clips the gradients of all parameters together, as clip_by_global_norm().
void clip_gradients(std::span<ParameterStep> parameters, double max_norm);

}  // namespace weft
