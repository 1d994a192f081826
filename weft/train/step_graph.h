// The two halves of a training step, as values of a function being built:
// gradients of the objective, and what an optimizer makes of them.
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

// One trainable parameter, its gradient, and the optimizer's slots for it.
struct UpdateValues {
  std::string name;
  Value parameter;
  Value gradient;
  Value indices;  // of the rows that `gradient` holds; undefined: of all
  std::vector<Value> slots;
};

// Where the optimizer allows it, replaces gradients that reach only few rows by
// these (optim/row_gradient.h). `sizes` are those of a usual batch.
void keep_touched_rows(const Optimizer& optimizer,
                       std::span<UpdateValues> updates, const Bindings& sizes);

// Clips all gradients together, as clip_by_global_norm().
void clip_updates(std::span<UpdateValues> updates, double max_norm);

// Replaces parameters and slots by the next ones.
void stage_update(const Optimizer& optimizer, std::span<UpdateValues> updates,
                  const Value& lr, const Value& step);

}  // namespace weft
