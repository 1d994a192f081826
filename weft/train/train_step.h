// One training step as one function: batch in, updated parameters out.
//
//   (parameters, slots, key, lr, step, input, label)
//     -> (parameters', slots', loss, correct)
//
// Parameters and slots are donated, so that the update happens in place; the
// model's own values are that memory and change with every run.
//
// Threads: caller synchronises.
// Cost:    a run on a batch of a known size allocates nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/nn/model.h"
#include "weft/optim/optimizer.h"
#include "weft/runtime/executable.h"
#include "weft/train/safetensors.h"

namespace weft {

struct TrainStepOptions {
  DType dtype = DType::kF32;  // that heavy layers compute in: f32 or bf16
  double clip_norm = 0;       // 0: gradients are not clipped
  std::uint64_t seed = 1;     // of dropout
  bool check_numerics = false;
  TaggedOptions tagged = {};  // of a model that branches, loops or calls
};

class TrainStep {
 public:
  // `model` must be initialized, and outlive this. `batch` are the types of a
  // full batch: input and label.
  TrainStep(nn::Layer& model, TaskKind task, const Optimizer& optimizer,
            const std::vector<TensorType>& batch,
            const TrainStepOptions& options = {});

  // Runs step number `step`, from 0, on a batch of at most the full size.
  // Throws Error(kNumeric) with check_numerics.
  void run(std::span<const Tensor> batch, double lr, std::int64_t step);

  // The totals of the last run.
  float loss() const { return loss_.data<float>()[0]; }
  float correct() const { return correct_.data<float>()[0]; }

  // Everything that a run changes, by name: the model's parameters as they
  // are called there, and "optimizer.SLOT.PARAMETER". The tensors are the
  // memory that the next run reads: write into them to restore a state.
  const std::vector<NamedTensor>& state() const { return state_; }
  // Sets what is carried from batch to batch to zero, as an epoch begins.
  void reset_carried();

  const Function& function() const { return executable_.function(); }
  // The plan for a full batch, and what a run passes to it.
  Plan& plan();
  // A model that branches, loops or calls has no plan, but an executor, here of
  // the batches of the last run.
  bool is_tagged() const { return executable_.is_tagged(); }
  TaggedExecutor& tagged() { return executable_.tagged_for(arguments_); }
  const std::vector<Tensor>& arguments() const { return arguments_; }
  const std::vector<Tensor>& results() const { return results_; }

 private:
  Executable stage(nn::Layer& model, TaskKind task, const Optimizer& optimizer,
                   const std::vector<TensorType>& batch,
                   const TrainStepOptions& options);

  std::vector<NamedTensor> state_;
  std::vector<Tensor> carried_;
  Tensor key_;
  Tensor lr_;
  Tensor step_;
  Tensor loss_;
  Tensor correct_;
  Executable executable_;
  std::vector<TensorType> batch_;
  std::vector<Tensor> arguments_;
  std::vector<Tensor> results_;
};

// `types` with the leading dim of each replaced by the symbol N, unless
// `model` carries state, which is made for one batch size.
std::vector<TensorType> open_batch(const nn::Module& model,
                                   std::vector<TensorType> types);

}  // namespace weft
