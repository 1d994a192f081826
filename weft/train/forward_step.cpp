#include "weft/train/forward_step.h"

#include <cstring>

#include "weft/graph/program.h"
#include "weft/nn/scope.h"
#include "weft/nn/staging.h"
#include "weft/ops/loss.h"
#include "weft/train/objective.h"
#include "weft/train/train_step.h"

namespace weft {
namespace {

// The model's values as arguments. What it carries gets memory of its own,
// since measuring must not change what training goes on with.
std::vector<Tensor> arguments_of(const nn::Module& model) {
  std::vector<Tensor> result;
  for (const auto& named : model.parameters()) {
    const LayerScope scope(named.name);
    const Tensor value = nn::value_of(named.parameter).tensor();
    result.push_back(named.parameter->role == nn::Role::kCarried
                         ? Tensor::zeros(value.type())
                         : value);
  }
  return result;
}

// Switches the model to inference while it lives: a model whose staging throws
// is not left in another mode.
class InferenceScope {
 public:
  explicit InferenceScope(nn::Module& model)
      : model_(model), was_training_(model.is_training()) {
    model.train(false);
  }
  ~InferenceScope() { model_.train(was_training_); }
  InferenceScope(const InferenceScope&) = delete;
  InferenceScope& operator=(const InferenceScope&) = delete;

 private:
  nn::Module& model_;
  bool was_training_;
};

}  // namespace

EvalStep::EvalStep(nn::Layer& model, TaskKind task,
                   const std::vector<TensorType>& batch, DType dtype,
                   const TaggedOptions& tagged)
    : loss_(Tensor::scalar(0, DType::kF32)),
      correct_(Tensor::scalar(0, DType::kF32)),
      arguments_(arguments_of(model)),
      // stage() reads arguments_ and fills results_, which are declared before
      // executable_ and so exist already.
      executable_(stage(model, task, batch, dtype, tagged)) {
  results_.insert(results_.end(), {loss_, correct_});
  // The last two places are those of the batch, which each run fills.
  arguments_.resize(arguments_.size() + 2);
}

Executable EvalStep::stage(nn::Layer& model, TaskKind task,
                           const std::vector<TensorType>& batch, DType dtype,
                           const TaggedOptions& tagged) {
  const auto parameters = model.parameters();
  const std::vector<TensorType> types = open_batch(model, batch);
  Program program;
  FunctionBuilder& builder = program.builder("eval_step");
  const nn::Staging staged(model, builder);
  // Dropout and batch statistics are settled while the graph is built, so this
  // scope need not last longer than that.
  const InferenceScope inference(model);
  const Value input = builder.parameter(types.at(0), "input");
  const Value label = builder.parameter(types.at(1), "label");
  ExecutableOptions settings;
  settings.tagged = tagged;
  program.add(builder.build([&] {
    const PrecisionScope precision(dtype);
    // Only heavy layers compute in `dtype`; the objective goes back to f32.
    const Objective found = objective(model, task, input, label);
    const std::vector<Value> values = staged.values();
    std::vector<Value> results;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].parameter->role != nn::Role::kCarried) continue;
      // What is carried is overwritten in place, batch by batch.
      settings.donated.emplace_back(i, results.size());
      results.push_back(values[i]);
      results_.push_back(arguments_[i]);
    }
    results.insert(results.end(), {found.loss, found.correct});
    return results;
  }));
  return Executable(program.build(), "eval_step", std::move(settings));
}

void EvalStep::run(std::span<const Tensor> batch) {
  WEFT_CHECK(batch.size() == 2);
  arguments_[arguments_.size() - 2] = batch[0];
  arguments_[arguments_.size() - 1] = batch[1];
  executable_.run(arguments_, results_);
}

void EvalStep::reset_carried() {
  // The last two results are the loss and the number of hits.
  for (std::size_t i = 0; i + 2 < results_.size(); ++i) {
    std::memset(results_[i].raw(), 0, results_[i].bytes());
  }
}

PredictStep::PredictStep(nn::Layer& model, const TensorType& input, DType dtype,
                         const TaggedOptions& tagged)
    : arguments_(arguments_of(model)),
      executable_(stage(model, input, dtype, tagged)) {
  arguments_.emplace_back();
}

Executable PredictStep::stage(nn::Layer& model, const TensorType& input,
                              DType dtype, const TaggedOptions& tagged) {
  Program program;
  FunctionBuilder& builder = program.builder("predict");
  const nn::Staging staged(model, builder);
  const InferenceScope inference(model);
  const Value x = builder.parameter(open_batch(model, {input})[0], "input");
  program.add(builder.build([&] {
    const PrecisionScope precision(dtype);
    // Probabilities are f32 whatever the layers compute in. What the model
    // carries stays out of the results: each prediction starts from zeros.
    return std::vector{softmax(nn::to_f32(model(x)))};
  }));
  ExecutableOptions settings;
  settings.tagged = tagged;
  return Executable(program.build(), "predict", std::move(settings));
}

const std::vector<Tensor>& PredictStep::arguments(const Tensor& input) {
  arguments_.back() = input;
  return arguments_;
}

Tensor PredictStep::run(const Tensor& input) {
  return executable_.run(arguments(input))[0];
}

Plan& PredictStep::plan(const Tensor& input) {
  return executable_.plan_for(arguments(input));
}

}  // namespace weft
