// Rows of a table to the number that the target stays below with a given
// probability: what nine of ten trips cost at most (Koenker and Bassett,
// "Regression quantiles", 1978).
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/train/step/row_predictor.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

class Quantile final : public TrainingTask {
 public:
  explicit Quantile(double share) : share_(share) {}

  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss"}, {.name = "below", .measure = 1}};
  }
  std::string unit(const DataDescription&) const override { return "rows"; }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.features()[1].type == TensorType{DType::kF32, {}}) {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()), "its labels are no numbers",
                   "task.name = \"classification\" takes classes"};
  }
  void fit(const DataDescription& data) override {
    scale_ = data.target_scale();
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = 1,
            .categories = data.category_counts()};
  }

  // Below the target costs `share` a unit, above it the rest of 1.
  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const Value target = (batch[1] - scale_.mean) / scale_.std;
    const Value error = target - told(model, batch[0]);
    const Value count = element_count(target.shape(), DType::kF32);
    const Value loss = sum(maximum(error * share_, error * (share_ - 1)));
    const Value is_below = cast(less_equal(error, error * 0), DType::kF32);
    return {loss / count, {{loss, count}, {sum(is_below), count}}};
  }

  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {told(model, known[0]) * scale_.std + scale_.mean};
  }
  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return predict_rows(context, [](std::span<const float> numbers) {
      return RowAnswer{fmt::format("at most {:.6g}", numbers[0]),
                       {{"at_most", numbers[0]}}};
    });
  }

 private:
  static Value told(nn::Module& model, const Value& rows) {
    const Value out =
        nn::to_f32(model_as<nn::Layer>(model, "quantile", "a layer")(rows));
    return reshape(out, {out.shape()[0]});
  }

  double share_;
  NumberScale scale_;
};

}  // namespace

void register_training_task_quantile(TrainingTaskRegistry& tasks) {
  tasks.add(
      {.name = "quantile",
       .summary = "rows to what their target seldom exceeds",
       .options = {{"share", 0.9, "of targets that lie below", kInside}},
       .make = [](const Options& options) -> std::unique_ptr<TrainingTask> {
         return std::make_unique<Quantile>(option<double>(options, "share"));
       }});
}

}  // namespace weft
