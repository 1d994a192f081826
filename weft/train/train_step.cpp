#include "weft/train/train_step.h"

#include <cstring>

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/nn/scope.h"
#include "weft/nn/staging.h"
#include "weft/optim/clip.h"
#include "weft/train/objective.h"

namespace weft {
namespace {

constexpr std::size_t kBatchTensors = 2;  // input and label

void set_zero(const Tensor& tensor) {
  std::memset(tensor.raw(), 0, tensor.bytes());
}

// Values of one training step while it is being built.
struct StepBuilder {
  const Optimizer& optimizer;
  const std::vector<nn::NamedParameter>& parameters;
  std::vector<Value> slots = {};  // all parameters' slots, in order

  // Replaces each trainable value of `values` by its update; returns the
  // slots that go with them.
  std::vector<Value> update(std::vector<Value>& values,
                            std::span<const Value> gradients, const Value& lr,
                            const Value& step) const {
    const std::vector<Value> scalars = optimizer.scalars(lr, step);
    const std::size_t per_parameter = optimizer.slots().size();
    std::vector<Value> result;
    std::size_t number = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].parameter->is_trainable()) continue;
      const LayerScope scope("optimizer/" + parameters[i].name);
      auto updated = optimizer.update(
          values[i], gradients[number],
          std::span(slots).subspan(number * per_parameter, per_parameter),
          scalars);
      values[i] = std::move(updated.parameter);
      for (Value& slot : updated.slots) result.push_back(std::move(slot));
      ++number;
    }
    return result;
  }
};

}  // namespace

std::vector<TensorType> open_batch(const nn::Module& model,
                                   std::vector<TensorType> types) {
  for (const auto& named : model.parameters()) {
    if (named.parameter->role == nn::Role::kCarried) return types;
  }
  for (TensorType& type : types) type.shape[0] = symbol("N");
  return types;
}

TrainStep::TrainStep(nn::Layer& model, Task task, const Optimizer& optimizer,
                     const std::vector<TensorType>& batch,
                     const TrainStepOptions& options)
    : key_(Tensor::of<std::int64_t>(
          {2}, {static_cast<std::int64_t>(options.seed), 0})),
      lr_(Tensor::scalar(0, DType::kF32)),
      step_(Tensor::scalar(0, DType::kF64)),
      loss_(Tensor::scalar(0, DType::kF32)),
      correct_(Tensor::scalar(0, DType::kF32)),
      executable_(stage(model, task, optimizer, batch, options)),
      batch_(batch) {
  for (const NamedTensor& named : state_) arguments_.push_back(named.tensor);
  results_ = arguments_;
  results_.insert(results_.end(), {loss_, correct_});
  arguments_.insert(arguments_.end(), {key_, lr_, step_});
  arguments_.resize(arguments_.size() + kBatchTensors);
}

Executable TrainStep::stage(nn::Layer& model, Task task,
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
  FunctionBuilder builder("train_step");
  StepBuilder step{optimizer, parameters};
  const std::vector<TensorType> types = open_batch(model, batch);
  const nn::Staging staged(model, builder);
  for (const auto& named : parameters) {
    if (!named.parameter->is_trainable()) continue;
    for (const std::string& slot : optimizer.slots()) {
      const TensorType& type = named.parameter->type;
      state_.push_back(
          {"optimizer." + slot + "." + named.name, Tensor::zeros(type)});
      step.slots.push_back(builder.parameter(type, state_.back().name));
    }
  }
  const Value key = builder.parameter(key_.type(), "key");
  const Value lr = builder.parameter(lr_.type(), "lr");
  const Value count = builder.parameter(step_.type(), "step");
  const Value input = builder.parameter(types[0], "input");
  const Value label = builder.parameter(types[1], "label");

  Function function = builder.build([&] {
    const nn::RandomKeyScope random(key);
    const nn::PrecisionScope precision(options.dtype);
    model.train(true);
    const Objective wanted = objective(model, task, input, label);
    std::vector<Value> wrt;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].parameter->is_trainable()) {
        wrt.push_back(staged.arguments()[i]);
      }
    }
    std::vector<Value> slopes = gradients(wanted.loss, wrt);
    if (options.clip_norm > 0) {
      slopes = clip_by_global_norm(slopes, options.clip_norm);
    }
    std::vector<Value> results = staged.values();
    const auto slots = step.update(results, slopes, lr, count);
    results.insert(results.end(), slots.begin(), slots.end());
    results.insert(results.end(), {wanted.loss, wanted.correct});
    return results;
  });

  ExecutableOptions settings;
  settings.check_numerics = options.check_numerics;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    settings.donated.emplace_back(i, i);
  }
  return Executable(std::move(function), std::move(settings));
}

void TrainStep::run(std::span<const Tensor> batch, double lr,
                    std::int64_t step) {
  WEFT_CHECK(batch.size() == kBatchTensors);
  key_.data<std::int64_t>()[1] = step;
  lr_.data<float>()[0] = static_cast<float>(lr);
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
      arguments_[first + i] = Tensor::zeros(batch_[i]);
    }
  }
  return executable_.plan_for(arguments_);
}

}  // namespace weft
