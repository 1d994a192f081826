// A trained model as functions that change nothing: evaluation on labelled
// batches, and prediction.
//
// Threads: caller synchronises.
// Cost:    a run on a batch of a known size allocates nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/nn/model.h"
#include "weft/runtime/executable.h"

namespace weft {

// (parameters, input, label) -> (carried', loss, correct). Reads the memory
// that the model's values lie in, so it sees what training does to them; what
// the model carries from batch to batch is kept here, apart from training's.
class EvalStep {
 public:
  // `model` must be initialized. `batch` are the types of a full batch: input
  // and label. Throws what the model throws for such an input.
  EvalStep(nn::Layer& model, TaskKind task,
           const std::vector<TensorType>& batch, DType dtype = DType::kF32,
           const TaggedOptions& tagged = {});

  // Runs on input and label, of any size where the model carries nothing.
  // Throws as Executable::run().
  void run(std::span<const Tensor> batch);
  // The mean loss and the number of hits of the last run.
  float loss() const { return loss_.data<float>()[0]; }
  float correct() const { return correct_.data<float>()[0]; }
  // Sets what is carried from batch to batch to zero, as a pass begins.
  void reset_carried();

 private:
  Executable stage(nn::Layer& model, TaskKind task,
                   const std::vector<TensorType>& batch, DType dtype,
                   const TaggedOptions& tagged);

  Tensor loss_;
  Tensor correct_;
  std::vector<Tensor> arguments_;
  std::vector<Tensor> results_;  // what is carried, then loss and correct
  Executable executable_;
};

// (parameters, input) -> probabilities, over the last axis.
class PredictStep {
 public:
  // `input` is the type of one batch.
  PredictStep(nn::Layer& model, const TensorType& input,
              DType dtype = DType::kF32, const TaggedOptions& tagged = {});

  // A new tensor: f32, a row of probabilities for each of the input's. Throws
  // as Executable::run().
  Tensor run(const Tensor& input);

  const Function& function() const { return executable_.function(); }
  Plan& plan(const Tensor& input);
  // Whether the model branches, loops or calls, and so has no plan.
  bool is_tagged() const { return executable_.is_tagged(); }
  TaggedExecutor& tagged(const Tensor& input) {
    return executable_.tagged_for(arguments(input));
  }
  // What a run on `input` passes to the plan.
  const std::vector<Tensor>& arguments(const Tensor& input);

 private:
  Executable stage(nn::Layer& model, const TensorType& input, DType dtype,
                   const TaggedOptions& tagged);

  std::vector<Tensor> arguments_;
  Executable executable_;
};

}  // namespace weft
