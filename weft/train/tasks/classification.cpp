// Features, images or texts to one of several classes.
#include <algorithm>

#include "weft/nn/auxiliary_head.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/loss.h"
#include "weft/train/step/class_guesses.h"
#include "weft/train/step/hits.h"
#include "weft/train/step/row_predictor.h"
#include "weft/train/step/text_guesses.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

// What a head in the middle counts beside the one at the end (Szegedy et al.,
// 2015; 0.4 as torchvision trains Inception-v3).
constexpr double kAuxiliaryWeight = 0.4;

class Classification final : public TrainingTask {
 public:
  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss"},
            {.name = "accuracy", .measure = 1, .is_higher_better = true}};
  }
  std::string_view deciding_metric() const override { return "accuracy"; }
  std::string unit(const DataDescription& data) const override {
    if (!data.words().empty()) return "sentences";
    return data.features()[0].type.shape.rank() == 3 ? "img" : "rows";
  }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.is_sequential() || data.features().size() != 2 ||
        (!data.words().empty() && data.features()[1].type.shape.rank() > 0)) {
      return Refusal{in_quotes(data.name()),
                     "it has no examples that are one of several classes each",
                     ""};
    }
    if (data.classes().empty()) {
      return Refusal{
          in_quotes(data.name()), "its labels are no classes",
          "task.name = \"regression\" takes labels that are numbers"};
    }
    if (data.features()[1].type.shape.rank() != 0) {
      return Refusal{in_quotes(data.name()),
                     "each of its examples has several labels",
                     "task.name = \"multi-label\" takes them"};
    }
    return std::nullopt;
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = static_cast<std::int64_t>(data.classes().size()),
            .words = static_cast<std::int64_t>(data.words().size()),
            .categories = data.category_counts()};
  }

  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const auto [logits, auxiliary] = heads_of(model, batch[0]);
    const Value& label = batch[1];
    const Value count = element_count(label.shape(), DType::kF32);
    const Value loss = mean(cross_entropy(logits, label));
    const Value whole =
        auxiliary.is_defined()
            ? loss + kAuxiliaryWeight *
                         mean(cross_entropy(nn::to_f32(auxiliary), label))
            : loss;
    // Measures are sums with their counts, which add up over batches of any
    // size; the loss that is trained on is the batch's mean.
    return {whole, {{loss * count, count}, {count_hits(logits, label), count}}};
  }

  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {softmax(heads_of(model, known[0]).logits)};
  }

  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    if (!context.data.words().empty()) return guess_classes_of_texts(context);
    if (context.data.table() == nullptr)
      return guess_classes_of_images(context);
    return predict_rows(context, [names = context.data.classes()](
                                     std::span<const float> probabilities) {
      return tell_class(names, probabilities);
    });
  }

 private:
  // bf16 has 8 significant bits, too few for the sum of exponentials in a cross
  // entropy.
  static nn::AuxiliaryHead::Heads heads_of(nn::Module& model,
                                           const Value& input) {
    if (auto* several = dynamic_cast<nn::AuxiliaryHead*>(&model)) {
      const auto [logits, auxiliary] = several->heads(input);
      return {nn::to_f32(logits), auxiliary};
    }
    auto& layer = model_as<nn::Layer>(model, "classification", "a layer");
    return {nn::to_f32(layer(input)), Value()};
  }
};

}  // namespace

void register_training_task_classification(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "classification",
             .summary = "features, images or texts to one of several classes",
             .make = [](const Options&) -> std::unique_ptr<TrainingTask> {
               return std::make_unique<Classification>();
             }});
}

}  // namespace weft
