// Actions by a policy that is made more probable where they went well
// (Williams, "Simple statistical gradient-following algorithms for
// connectionist reinforcement learning", 1992: REINFORCE), with a bonus for
// being unsure (Williams and Peng, 1991).
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/loss.h"
#include "weft/ops/reduce.h"
#include "weft/train/step/hits.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

class PolicyGradient final : public TrainingTask {
 public:
  explicit PolicyGradient(double entropy) : entropy_(entropy) {}

  std::vector<MetricDef> metrics() const override {
    return {
        {.name = "loss"},
        {.name = "reward", .measure = 1, .is_higher_better = true, .digits = 1},
        {.name = "entropy", .measure = 2}};
  }
  std::string_view deciding_metric() const override { return "reward"; }
  std::string unit(const DataDescription&) const override { return "episodes"; }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.features().size() == 5 && data.features()[4].name == "reward") {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()), "it has no episodes",
                   "data.source = \"environment\""};
  }
  ModelInput model_input(const DataDescription& data) const override {
    const Shape& episode = data.features()[0].type.shape;
    return {.example = {episode[1]},
            .classes = static_cast<std::int64_t>(data.classes().size())};
  }

  // observation [N, T, numbers], action [N, T], advantage and weight [N, T],
  // reward [N].
  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const Value logits = logits_of(model, batch[0]);
    const Value& advantage = batch[2];
    const Value& weight = batch[3];
    // Steps behind an episode's end have a weight of 0.
    const Value steps = sum(weight);
    // The cross entropy of an action is minus the logarithm of its probability.
    const Value loss =
        sum(cross_entropy(logits, batch[1]) * advantage * weight);
    const Value log_p = log_softmax(logits);
    const Value entropy = -sum(sum(softmax(logits) * log_p, {-1}) * weight);
    const Value whole = loss - entropy_ * entropy;
    return {whole / steps,
            {{whole, steps},
             {sum(batch[4]), element_count(batch[4].shape(), DType::kF32)},
             {entropy, steps}}};
  }

  // The probability of each action.
  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {softmax(logits_of(model, known[0]))};
  }

 private:
  static Value logits_of(nn::Module& model, const Value& seen) {
    return nn::to_f32(
        model_as<nn::Layer>(model, "policy-gradient", "a layer")(seen));
  }

  double entropy_;
};

}  // namespace

void register_training_task_policy_gradient(TrainingTaskRegistry& tasks) {
  tasks.add(
      {.name = "policy-gradient",
       .summary = "actions in an environment, by the rewards that follow",
       .options = {{"entropy", 0.0, "bonus for being unsure", {.least = 0}}},
       .source = "environment",
       .make = [](const Options& options) -> std::unique_ptr<TrainingTask> {
         return std::make_unique<PolicyGradient>(
             option<double>(options, "entropy"));
       }});
}

}  // namespace weft
