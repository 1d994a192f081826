// Words to the words that follow, in several streams of running text.
#include <cmath>

#include "weft/nn/scope.h"
#include "weft/ops/loss.h"
#include "weft/ops/shape.h"
#include "weft/train/step/hits.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

class LanguageModel final : public TrainingTask {
 public:
  std::vector<MetricDef> metrics() const override {
    return {
        {.name = "loss"},
        {.name = "perplexity",
         .digits = 1,
         // Perplexity is the exponential of the mean over all words, and not a
         // mean of the batches' perplexities.
         .of = [](const MeasureSums& sums) { return std::exp(sums.loss()); }},
        {.name = "accuracy", .measure = 1, .is_higher_better = true}};
  }
  std::string_view deciding_metric() const override { return "perplexity"; }
  std::string unit(const DataDescription&) const override { return "windows"; }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.is_sequential()) return std::nullopt;
    return Refusal{in_quotes(data.name()), "it is no running text", ""};
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = static_cast<std::int64_t>(data.classes().size()),
            .lanes = data.lanes()};
  }

  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const Value logits = logits_of(model, batch[0]);
    // Language models compute in the order of time: [steps, N, words].
    const Value target = transpose(batch[1], {1, 0});
    const Value count = element_count(target.shape(), DType::kF32);
    const Value loss = mean(cross_entropy(logits, target));
    return {loss, {{loss * count, count}, {count_hits(logits, target), count}}};
  }

  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {softmax(logits_of(model, known[0]))};
  }

 private:
  static Value logits_of(nn::Module& model, const Value& tokens) {
    // The sum over the words needs more bits than bf16 has, and there are
    // thousands of words.
    return nn::to_f32(
        model_as<nn::Layer>(model, "language-model", "a layer")(tokens));
  }
};

}  // namespace

void register_training_task_language_model(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "language-model",
             .summary = "words to the words that follow",
             .make = [](const Options&) -> std::unique_ptr<TrainingTask> {
               return std::make_unique<LanguageModel>();
             }});
}

}  // namespace weft
