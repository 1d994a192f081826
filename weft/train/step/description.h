// A training step described: its entries by name and role, what runs the model
// (a task), and what changes parameters (an optimizer). Everything that is done
// with a step is a cut of this one description (step.h): training, gradients
// alone, an update alone, evaluation, prediction.
//
// Threads: caller synchronises.
#pragma once

#include <span>
#include <vector>

#include "weft/data/batch_source.h"
#include "weft/files/safetensors.h"
#include "weft/optim/optimizer.h"
#include "weft/train/step/entry.h"
#include "weft/train/step/step_options.h"
#include "weft/train/step/training_task.h"

namespace weft {

class StepDescription {
 public:
  // `model` must be initialized: its values are the memory of the entries.
  // Without an optimizer there are no slots, and nothing can be updated. All
  // three must outlive this and the steps made from it.
  StepDescription(nn::Module& model, const TrainingTask& task,
                  std::vector<BatchInput> inputs,
                  const StepOptions& options = {},
                  const Optimizer* optimizer = nullptr);
  // The update alone, of parameters that need be no model's: those that a
  // server owns, say.
  StepDescription(const Optimizer& optimizer,
                  std::span<const NamedTensor> parameters, double clip_norm);

  // The same step on other batches: those of a held-out part.
  StepDescription with_inputs(std::vector<BatchInput> inputs) const;
  // The same step, computed in another way, which draws by itself.
  StepDescription with_options(const StepOptions& options) const;

  // The same step, to measure and predict with: parameters are what `optimizer`
  // has stand in for them (used_name() in optim/optimizer.h), as it lies among
  // `state`. Throws Error(kInvalidArgument) where it is not there, as with
  // workers that update a part of the model each.
  StepDescription in_use(const Optimizer& optimizer,
                         std::span<const NamedTensor> state) const;

  const std::vector<Entry>& entries() const { return entries_; }
  // The memory of the entries of one role, in order.
  std::vector<NamedTensor> tensors(EntryRole role) const;
  // What a checkpoint holds: the model's parameters as they are called there,
  // then "optimizer.SLOT.PARAMETER". Writing into these tensors restores a
  // state.
  std::vector<NamedTensor> state() const;

  // Where gradients are written or read: one tensor for each kParameter, in
  // order, of its type. Before steps are made.
  void set_gradients(const std::vector<Tensor>& gradients);

  // What changes together in an update, as indices of entries.
  struct Updated {
    std::size_t parameter;
    std::size_t gradient;
    std::vector<std::size_t> slots;
  };
  const std::vector<Updated>& updated() const { return updated_; }
  const std::vector<std::size_t>& shared_slots() const { return shared_slots_; }

  nn::Module* model() const { return model_; }
  const TrainingTask* task() const { return task_; }
  const Optimizer* optimizer() const { return optimizer_; }
  const StepOptions& options() const { return options_; }
  const std::vector<BatchInput>& inputs() const { return inputs_; }

 private:
  std::size_t add(Entry entry);
  Tensor first_key() const;
  void add_slots();
  void add_controls();
  void add_inputs();
  void add_measures();
  void add_gradients();

  nn::Module* model_ = nullptr;
  const TrainingTask* task_ = nullptr;
  const Optimizer* optimizer_ = nullptr;
  StepOptions options_;
  std::vector<BatchInput> inputs_;
  std::vector<Entry> entries_;
  std::vector<Updated> updated_;
  std::vector<std::size_t> shared_slots_;
};

}  // namespace weft
