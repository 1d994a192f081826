#include "bench/worker/training.h"

#include "weft/train/safetensors.h"

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

std::unique_ptr<nn::Layer> make_raced_model(
    const RacedModel& raced, const std::vector<TensorType>& batch,
    const std::string& weights) {
  const ModelDef& def = model_registry().get(raced.name);
  const bool is_text = def.task == TaskKind::kLanguageModel;
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

std::unique_ptr<Optimizer> make_raced_optimizer(const RacedModel& raced) {
  return make_optimizer(raced.optimizer, raced.settings);
}

Training::Training(const RacedModel& raced,
                   const std::vector<TensorType>& batch,
                   const std::string& weights, DType dtype)
    : raced_(raced),
      model_(make_raced_model(raced, batch, weights)),
      optimizer_(make_raced_optimizer(raced)) {
  step_ = std::make_unique<TrainStep>(
      *model_, model_registry().get(raced.name).task, *optimizer_, batch,
      TrainStepOptions{.dtype = dtype, .clip_norm = raced.clip_norm});
}

float Training::step(std::span<const Tensor> batch) {
  step_->run(batch, raced_.lr, steps_done_++);
  return step_->loss();
}

}  // namespace weft::bench
