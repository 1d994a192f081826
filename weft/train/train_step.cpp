#include "weft/train/train_step.h"

#include <cstring>

#include "weft/graph/program.h"
#include "weft/nn/staging.h"
#include "weft/optim/row_gradient.h"
#include "weft/train/step_graph.h"

namespace weft {
namespace {

constexpr std::size_t kBatchTensors = 2;  // input and label

void set_zero(const Tensor& tensor) {
  std::memset(tensor.raw(), 0, tensor.bytes());
}

}  // namespace

std::vector<TensorType> open_batch(const nn::Module& model,
                                   std::vector<TensorType> types) {
  // What a model carries from batch to batch has a place per example, so the
  // size of a batch is part of its types; all others take any.
  for (const auto& named : model.parameters()) {
    if (named.parameter->role == nn::Role::kCarried) return types;
  }
  for (TensorType& type : types) type.shape[0] = symbol("N");
  return types;
}

TrainStep::TrainStep(nn::Layer& model, TaskKind task,
                     const Optimizer& optimizer,
                     const std::vector<TensorType>& batch,
                     const TrainStepOptions& options)
    : key_(Tensor::of<std::int64_t>(
          {2}, {static_cast<std::int64_t>(options.seed), 0})),
      lr_(Tensor::scalar(0, DType::kF32)),
      // Beyond 2^24 steps f32 would no longer count.
      step_(Tensor::scalar(0, DType::kF64)),
      loss_(Tensor::scalar(0, DType::kF32)),
      correct_(Tensor::scalar(0, DType::kF32)),
      // stage() fills state_ and carried_ and reads the scalars, all of which
      // are declared before executable_.
      executable_(stage(model, task, optimizer, batch, options)),
      batch_(batch) {
  for (const NamedTensor& named : state_) arguments_.push_back(named.tensor);
  // The state comes first in arguments and in results, in one order, so that
  // result i overwrites argument i.
  results_ = arguments_;
  results_.insert(results_.end(), {loss_, correct_});
  arguments_.insert(arguments_.end(), {key_, lr_, step_});
  arguments_.resize(arguments_.size() + kBatchTensors);
}

Executable TrainStep::stage(nn::Layer& model, TaskKind task,
                            const Optimizer& optimizer,
                            const std::vector<TensorType>& batch,
                            const TrainStepOptions& options) {
  if (batch.size() != kBatchTensors) {
    throw Error(ErrorCode::kInvalidArgument, "train",
                "a batch is an input and a label, not {} tensors",
                batch.size());
  }
  const auto parameters = model.parameters();
  for (const auto& named : parameters) {
    const LayerScope scope(named.name);
    state_.push_back({named.name, nn::value_of(named.parameter).tensor()});
    if (named.parameter->role == nn::Role::kCarried) {
      carried_.push_back(state_.back().tensor);
    }
  }
  Program program;
  FunctionBuilder& builder = program.builder("train_step");
  const std::vector<TensorType> types = open_batch(model, batch);
  Bindings sizes;
  for (std::size_t i = 0; i < kBatchTensors; ++i) {
    // How many rows a full batch looks up decides whether a table is updated
    // row by row.
    match(types[i].shape, batch[i].shape, sizes);
  }
  const nn::Staging staged(model, builder);
  std::vector<ParameterStep> updates;
  const auto take_slot = [&](const Slot& slot, const NamedTensor& of) {
    state_.push_back({slot_name(slot, of.name), initial_slot(slot, of.tensor)});
    return builder.parameter(slot.type, state_.back().name);
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].parameter->is_trainable()) continue;
    const NamedTensor own = state_[i];
    updates.emplace_back().name = own.name;
    for (const Slot& slot : optimizer.slots({own.name, own.tensor.type()})) {
      updates.back().slots.push_back(take_slot(slot, own));
    }
  }
  std::vector<Value> shared;
  for (const Slot& slot : optimizer.shared_slots()) {
    shared.push_back(take_slot(slot, {}));
  }
  // The constructor appends arguments in this order.
  const Value key = builder.parameter(key_.type(), "key");
  const Value lr = builder.parameter(lr_.type(), "lr");
  const Value count = builder.parameter(step_.type(), "step");
  const Value input = builder.parameter(types[0], "input");
  const Value label = builder.parameter(types[1], "label");

  program.add(builder.build([&] {
    const BackwardValues backward =
        stage_backward(model, task, staged, key, input, label, options.dtype);
    std::vector<Value> results = staged.values();
    // These pointers hold as long as `results` does not grow: until the slots
    // are appended.
    std::vector<Value*> trainable;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].parameter->is_trainable()) {
        trainable.push_back(&results[i]);
      }
    }
    for (std::size_t i = 0; i < updates.size(); ++i) {
      updates[i].parameter = *trainable[i];
      updates[i].gradient = backward.gradients[i];
    }
    // Rows are picked before gradients are clipped: what clipping makes of the
    // rows is what it makes of the table (optim/row_gradient.h), and they are
    // fewer.
    keep_touched_rows(optimizer, updates, sizes);
    if (options.clip_norm > 0) clip_gradients(updates, options.clip_norm);
    optimizer.update(updates, shared, {lr, count});
    for (std::size_t i = 0; i < updates.size(); ++i) {
      *trainable[i] = updates[i].parameter;
    }
    // The slots come in the order in which state_ has them, behind the
    // parameters.
    for (const ParameterStep& update : updates) {
      results.insert(results.end(), update.slots.begin(), update.slots.end());
    }
    results.insert(results.end(), shared.begin(), shared.end());
    results.insert(results.end(), {backward.loss, backward.correct});
    return results;
  }));

  ExecutableOptions settings;
  settings.check_numerics = options.check_numerics;
  settings.tagged = options.tagged;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    // Each part of the state is overwritten by its new value, in place.
    settings.donated.emplace_back(i, i);
  }
  return Executable(program.build(), "train_step", std::move(settings));
}

void TrainStep::run(std::span<const Tensor> batch, double lr,
                    std::int64_t step) {
  WEFT_CHECK(batch.size() == kBatchTensors);
  // The random key is a function of the seed and the step alone, so that a run
  // that is resumed draws as it would have.
  key_.data<std::int64_t>()[1] = step;
  lr_.data<float>()[0] = static_cast<float>(lr);
  // Optimizers count from 1, as the bias corrections of Adam do.
  step_.data<double>()[0] = static_cast<double>(step + 1);
  arguments_[arguments_.size() - 2] = batch[0];
  arguments_[arguments_.size() - 1] = batch[1];
  executable_.run(arguments_, results_);
}

void TrainStep::reset_carried() {
  for (const Tensor& tensor : carried_) set_zero(tensor);
}

Plan& TrainStep::plan() {
  const std::size_t first = arguments_.size() - kBatchTensors;
  for (std::size_t i = 0; i < kBatchTensors; ++i) {
    if (!arguments_[first + i].is_defined()) {
      // Before the first batch, zeros of its types stand for it.
      arguments_[first + i] = Tensor::zeros(batch_[i]);
    }
  }
  return executable_.plan_for(arguments_);
}

}  // namespace weft
