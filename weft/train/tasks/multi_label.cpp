// Rows or images to several things that are so or not, each by a number of its
// own of which the sigmoid is the probability.
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"
#include "weft/train/step/logistic_loss.h"
#include "weft/train/step/row_predictor.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

class MultiLabel final : public TrainingTask {
 public:
  explicit MultiLabel(double threshold) : threshold_(threshold) {}

  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss"},
            {.name = "subset_accuracy", .measure = 1, .is_higher_better = true},
            {.name = "micro_f1", .measure = 2, .is_higher_better = true},
            {.name = "hamming", .measure = 3}};
  }
  std::string_view deciding_metric() const override { return "micro_f1"; }
  std::string unit(const DataDescription& data) const override {
    return data.features()[0].type.shape.rank() == 3 ? "img" : "rows";
  }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.features().size() == 2 &&
        data.features()[1].type.dtype == DType::kF32 &&
        data.features()[1].type.shape.rank() == 1) {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()),
                   "its examples do not have several labels each",
                   "of a table, data.label names several columns"};
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = static_cast<std::int64_t>(data.classes().size()),
            .categories = data.category_counts()};
  }

  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const Value logits = logits_of(model, batch[0]);
    const Value& is_so = batch[1];
    const Value rows = element_count({is_so.shape()[0]}, DType::kF32);
    const Value count = element_count(is_so.shape(), DType::kF32);
    const Value loss = sum(logistic_loss(logits, is_so));
    const Value is_said =
        cast(greater_equal(sigmoid(logits), scalar_like(logits, threshold_)),
             DType::kF32);
    const Value is_wrong = cast(not_equal(is_said, is_so), DType::kF32);
    // A row is wrong if any of its labels is.
    const Value wrong_rows = sum(reduce_max(is_wrong, {1}));
    // F1 of all labels together is a ratio of sums: twice what is said rightly
    // over what is said and what is so.
    // The loss is a mean over labels, too, so that their number does not scale
    // the gradient.
    return {loss / count,
            {{loss, count},
             {rows - wrong_rows, rows},
             {sum(is_said * is_so) * 2, sum(is_said) + sum(is_so)},
             {sum(is_wrong), count}}};
  }

  // Probabilities, [N, labels].
  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {sigmoid(logits_of(model, known[0]))};
  }

  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return predict_rows(
        context, [names = context.data.classes()](std::span<const float> told) {
          RowAnswer answer;
          for (std::size_t i = 0; i < names.size(); ++i) {
            answer.text += fmt::format("{}{} {:.4f}", i == 0 ? "" : "   ",
                                       names[i], told[i]);
            answer.json["labels"][names[i]] = told[i];
          }
          return answer;
        });
  }

 private:
  static Value logits_of(nn::Module& model, const Value& input) {
    return nn::to_f32(
        model_as<nn::Layer>(model, "multi-label", "a layer")(input));
  }

  double threshold_;
};

std::unique_ptr<TrainingTask> make_multi_label(const Options& options) {
  return std::make_unique<MultiLabel>(option<double>(options, "threshold"));
}

}  // namespace

void register_training_task_multi_label(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "multi-label",
             .summary = "rows or images to several things that are so or not",
             .options = {{"threshold", 0.5,
                          "probability from which yes is said", kInside}},
             .make = make_multi_label});
}

}  // namespace weft
