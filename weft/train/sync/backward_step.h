// The first half of a training step, for workers that exchange gradients in
// between: batch in, gradients out.
//
//   (parameters, key, loss_weight, input, label)
//     -> (statistics', carried', loss, correct, gradients)
//
// Threads: caller synchronises.
// Cost:    a run on a batch of a known size allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/nn/model.h"
#include "weft/runtime/executable.h"
#include "weft/train/safetensors.h"
#include "weft/train/train_step.h"

namespace weft {

class BackwardStep {
 public:
  // Arguments are those of TrainStep; with clip_norm the gradients of this
  // worker alone are clipped.
  BackwardStep(nn::Layer& model, TaskKind task,
               const std::vector<TensorType>& batch,
               const TrainStepOptions& options);

  // The trainable parameters by name: the model's own memory.
  const std::vector<NamedTensor>& trainable() const { return trainable_; }
  // Statistics and carried state: what runs change beside the gradients.
  const std::vector<NamedTensor>& statistics() const { return statistics_; }
  const std::vector<NamedTensor>& carried() const { return carried_; }

  // Where the gradient of each trainable parameter goes.
  void set_gradients(std::vector<Tensor> gradients);

  // Gradients of `weight` × the loss of step number `step` on `batch`. Calls
  // on_gradient(i) as soon as that of trainable()[i] is there. Throws
  // Error(kNumeric) with check_numerics.
  void run(std::span<const Tensor> batch, double weight, std::int64_t step,
           const std::function<void(std::size_t)>& on_gradient);

  // The totals of the last run.
  float loss() const { return loss_.data<float>()[0]; }
  float correct() const { return correct_.data<float>()[0]; }

 private:
  Executable stage(nn::Layer& model, TaskKind task,
                   const std::vector<TensorType>& batch,
                   const TrainStepOptions& options);

  std::vector<NamedTensor> trainable_;
  std::vector<NamedTensor> statistics_;
  std::vector<NamedTensor> carried_;
  Tensor key_;
  Tensor weight_;
  Tensor loss_;
  Tensor correct_;
  std::vector<Tensor> arguments_;  // the last two are the batch
  std::vector<Tensor> results_;    // gradients last
  Executable executable_;
};

}  // namespace weft
