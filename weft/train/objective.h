// What a model is trained for: the loss of a batch, and how many of its
// predictions are right.
//
// Threads: pure functions of staged or concrete values.
#pragma once

#include "weft/nn/model.h"

namespace weft {

struct Objective {
  Value loss;     // f32 scalar: the mean over the batch's predictions
  Value correct;  // f32 scalar: how many predictions hit the label
};

// Runs `model` on a batch and compares with the labels, in f32. Labels are
// integers: [N] for classification, [N, steps] for a language model. For
// trees they are [N, rows], -1 beyond a tree's end: the loss of a tree is the
// sum over its nodes, and its prediction that of its root (Tai et al., 2015,
// section 4.1).
Objective objective(nn::Layer& model, TaskKind task, const Value& input,
                    const Value& label);

// How many predictions a batch of `examples` has.
std::int64_t prediction_count(TaskKind task, const Shape& label,
                              std::int64_t examples);

}  // namespace weft
