#include "bench/worker/training.h"

#include <map>

#include "weft/files/safetensors.h"

namespace weft::bench {
namespace {

const RacedModel kModels[] = {
    {"mnist-cnn", {28, 28, 1}, 10, "momentum", 0.01, {{"momentum", 0.9}}, 0},
    {"digits-cnn", {8, 8, 1}, 10, "momentum", 0.05, {{"momentum", 0.9}}, 0},
    {"resnet20",
     {32, 32, 3},
     10,
     "momentum",
     0.02,
     {{"momentum", 0.9}, {"weight_decay", 1e-4}},
     0},
    {"mlp", {784}, 10, "momentum", 0.01, {{"momentum", 0.9}}, 0},
    {"lstm-lm", {}, 10000, "sgd", 1.0, {}, 0.25, kSequenceSteps},
    {"bert", {}, 2, "adamw", 1e-4, {}, 0, 128, 30522},
    {"gpt", {}, 50257, "adamw", 1e-4, {}, 0, 256},
};

// Neither side drops anything.
Options options_of(const ModelDef& def) {
  Options options;
  for (const OptionSpec& spec : def.options) {
    if (spec.name == "dropout") options["dropout"] = 0.0;
  }
  return options;
}

}  // namespace

const RacedModel& raced_model(const std::string& name) {
  for (const RacedModel& model : kModels) {
    if (model.name == name) return model;
  }
  throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no race of '{}'",
              name);
}

std::unique_ptr<nn::Module> make_raced_model(
    const RacedModel& raced, const std::vector<TensorType>& batch,
    const std::string& weights) {
  const ModelDef& def = model_registry().get(raced.name);
  const bool is_text = def.task == "language-model";
  const Shape& input = batch[0].shape;
  auto model = build_model(def,
                           {.example = Shape(input.last(input.rank() - 1)),
                            .classes = raced.classes,
                            .words = raced.words,
                            .lanes = is_text ? input[0] : 0},
                           options_of(def));
  model->initialize(1);
  const SafetensorsFile file(weights);
  for (const auto& named : model->parameters()) {
    if (named.parameter->role == nn::Role::kCarried) continue;
    named.parameter->variable.set_tensor(file.read(named.name));
  }
  return model;
}

StepDescription describe_step(nn::Module& model, std::string_view task,
                              const Optimizer& optimizer,
                              const std::vector<TensorType>& batch,
                              const StepOptions& options) {
  // Tasks without options are all alike, and outlive every step.
  static std::map<std::string, std::unique_ptr<TrainingTask>, std::less<>>
      tasks;
  auto& made = tasks[std::string(task)];
  if (!made) made = make_task(task);
  return {model,
          *made,
          {{"input", batch.at(0)}, {"label", batch.at(1)}},
          options,
          &optimizer};
}

std::vector<TensorType> types_of(const std::vector<BatchInput>& inputs) {
  std::vector<TensorType> types;
  for (const BatchInput& input : inputs) types.push_back(input.type);
  return types;
}

std::unique_ptr<Optimizer> make_raced_optimizer(const RacedModel& raced) {
  return make_optimizer(raced.optimizer, raced.settings);
}

Training::Training(const RacedModel& raced,
                   const std::vector<TensorType>& batch,
                   const std::string& weights, DType dtype)
    : raced_(raced),
      model_(make_raced_model(raced, batch, weights)),
      optimizer_(make_raced_optimizer(raced)) {
  step_ = std::make_unique<Step>(
      describe_step(*model_, model_registry().get(raced.name).task, *optimizer_,
                    batch, {.dtype = dtype, .clip_norm = raced.clip_norm}),
      StepCut::kTrain);
}

float Training::step(std::span<const Tensor> batch) {
  step_->run(batch, {.lr = raced_.lr, .number = steps_done_++});
  return static_cast<float>(step_->loss());
}

}  // namespace weft::bench
