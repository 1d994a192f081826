#include "weft/train/sync/backward_step.h"

#include "weft/graph/program.h"
#include "weft/nn/staging.h"
#include "weft/optim/clip.h"
#include "weft/train/step_graph.h"

namespace weft {
namespace {

constexpr std::size_t kBatchTensors = 2;  // input and label

// Passes on which gradients are there.
class GradientObserver : public ResultObserver {
 public:
  GradientObserver(std::size_t first,
                   const std::function<void(std::size_t)>& on_gradient)
      : first_(first), on_gradient_(on_gradient) {}
  void on_result(std::size_t index) override {
    // Gradients are the last results.
    if (index >= first_) on_gradient_(index - first_);
  }

 private:
  std::size_t first_;
  const std::function<void(std::size_t)>& on_gradient_;
};

}  // namespace

BackwardStep::BackwardStep(nn::Layer& model, TaskKind task,
                           const std::vector<TensorType>& batch,
                           const TrainStepOptions& options)
    : key_(Tensor::of<std::int64_t>(
          {2}, {static_cast<std::int64_t>(options.seed), 0})),
      weight_(Tensor::scalar(1, DType::kF32)),
      loss_(Tensor::scalar(0, DType::kF32)),
      correct_(Tensor::scalar(0, DType::kF32)),
      // stage() fills the lists of tensors and reads the scalars, all of which
      // are declared before executable_.
      executable_(stage(model, task, batch, options)) {}

Executable BackwardStep::stage(nn::Layer& model, TaskKind task,
                               const std::vector<TensorType>& batch,
                               const TrainStepOptions& options) {
  WEFT_CHECK(batch.size() == kBatchTensors);
  const auto parameters = model.parameters();
  ExecutableOptions settings;
  settings.check_numerics = options.check_numerics;
  settings.tagged = options.tagged;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    const Tensor tensor = nn::value_of(parameter).tensor();
    arguments_.push_back(tensor);
    if (parameter->is_trainable()) {
      trainable_.push_back({name, tensor});
      continue;
    }
    auto& kept = parameter->role == nn::Role::kCarried ? carried_ : statistics_;
    kept.push_back({name, tensor});
    // Statistics and what is carried are overwritten in place. Parameters are
    // no results here: the policy changes them when all gradients are summed.
    settings.donated.emplace_back(i, results_.size());
    results_.push_back(tensor);
  }
  Program program;
  FunctionBuilder& builder = program.builder("backward_step");
  const std::vector<TensorType> types = open_batch(model, batch);
  const nn::Staging staged(model, builder);
  const Value key = builder.parameter(key_.type(), "key");
  // The weight is an argument, as the last batch of an epoch gives workers
  // other shares than the rest do.
  const Value weight = builder.parameter(weight_.type(), "loss_weight");
  const Value input = builder.parameter(types[0], "input");
  const Value label = builder.parameter(types[1], "label");
  program.add(builder.build([&] {
    BackwardValues backward = stage_backward(model, task, staged, key, input,
                                             label, options.dtype, weight);
    if (options.clip_norm > 0) {
      backward.gradients =
          clip_by_global_norm(backward.gradients, options.clip_norm);
    }
    std::vector<Value> results;
    const std::vector<Value> values = staged.values();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].parameter->is_trainable()) {
        results.push_back(values[i]);
      }
    }
    results.insert(results.end(), {backward.loss, backward.correct});
    // Gradients come last, where on_result() looks for them.
    results.insert(results.end(), backward.gradients.begin(),
                   backward.gradients.end());
    return results;
  }));
  results_.insert(results_.end(), {loss_, correct_});
  arguments_.insert(arguments_.end(), {key_, weight_});
  // The last places are those of the batch, which each run fills.
  arguments_.resize(arguments_.size() + kBatchTensors);
  return Executable(program.build(), "backward_step", std::move(settings));
}

void BackwardStep::set_gradients(std::vector<Tensor> gradients) {
  WEFT_CHECK(gradients.size() == trainable_.size());
  // The loss and the number of hits stand before the gradients.
  results_.resize(statistics_.size() + carried_.size() + 2);
  results_.insert(results_.end(), gradients.begin(), gradients.end());
}

void BackwardStep::run(std::span<const Tensor> batch, double weight,
                       std::int64_t step,
                       const std::function<void(std::size_t)>& on_gradient) {
  WEFT_CHECK(batch.size() == kBatchTensors);
  // As in TrainStep, the key is a function of the seed and the step alone.
  key_.data<std::int64_t>()[1] = step;
  weight_.data<float>()[0] = static_cast<float>(weight);
  arguments_[arguments_.size() - 2] = batch[0];
  arguments_[arguments_.size() - 1] = batch[1];
  GradientObserver observer(results_.size() - trainable_.size(), on_gradient);
  executable_.run(arguments_, results_, &observer);
}

}  // namespace weft
