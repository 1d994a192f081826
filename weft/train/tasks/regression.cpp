// Rows or images to a number. It is learned in standard deviations from the
// training part's mean, and told in the unit of the data.
#include <cmath>

#include "weft/data/table.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/train/step/row_predictor.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

enum RegressionMeasure : std::size_t {
  kErrorLoss,
  kSquaredError,
  kAbsoluteError,
  kTarget,  // from the mean of the training part
  kTargetSquare
};

class Regression final : public TrainingTask {
 public:
  // `delta` 0: the squares of errors; else Huber's loss.
  explicit Regression(double delta) : delta_(delta) {}

  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss"},
            {.name = "rmse", .of = root_mean_square},
            {.name = "mae", .measure = kAbsoluteError},
            {.name = "r2", .is_higher_better = true, .of = explained}};
  }
  std::vector<MeasureDef> measures() const override {
    return {{"loss"},
            {"squared_error"},
            {"absolute_error"},
            {"target"},
            {"target_square"}};
  }
  // Squares would have a few outliers decide what a loss that bears them does.
  std::string_view deciding_metric() const override {
    return delta_ > 0 ? "mae" : "rmse";
  }
  std::string unit(const DataDescription& data) const override {
    return data.features()[0].type.shape.rank() == 3 ? "img" : "rows";
  }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (!data.is_sequential() && data.features().size() == 2 &&
        data.features()[1].type == TensorType{DType::kF32, {}}) {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()),
                   "its labels are no numbers to be told",
                   "of a table, data.numbers says which columns are numbers"};
  }
  void fit(const DataDescription& data) override {
    scale_ = data.target_scale();
    if (data.table()) label_ = data.table()->label_columns[0];
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = 1,
            .categories = data.category_counts()};
  }

  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    // In standard deviations, errors are near 1 whatever the unit, and one
    // learning rate suits all data.
    const Value target = (batch[1] - scale_.mean) / scale_.std;
    const Value error = told(model, batch[0]) - target;
    const Value count = element_count(target.shape(), DType::kF32);
    const Value loss = sum(delta_ > 0 ? huber(error) : square(error));
    const double unit = scale_.std;
    return {loss / count,
            {{loss, count},
             {sum(square(error)) * (unit * unit), count},
             {sum(abs(error)) * unit, count},
             // The target is measured from the training part's mean, where the
             // difference of squares in explained() does not cancel.
             {sum(target) * unit, count},
             {sum(square(target)) * (unit * unit), count}}};
  }

  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {told(model, known[0]) * scale_.std + scale_.mean};
  }

  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return predict_rows(context, [name = label_](std::span<const float> told) {
      return RowAnswer{fmt::format("{} {:.6g}", name, told[0]),
                       {{name, told[0]}}};
    });
  }

 private:
  // In standard deviations, [N].
  static Value told(nn::Module& model, const Value& input) {
    const Value out =
        nn::to_f32(model_as<nn::Layer>(model, "regression", "a layer")(input));
    return reshape(out, {out.shape()[0]});
  }

  // Squares near 0, and lines beyond delta, which far outliers pull less at
  // (Huber, "Robust estimation of a location parameter", 1964).
  Value huber(const Value& error) const {
    const Value size = abs(error);
    return where(less_equal(size, scalar_like(size, delta_)),
                 square(error) * 0.5, (size - 0.5 * delta_) * delta_);
  }

  static double root_mean_square(const MeasureSums& sums) {
    return std::sqrt(sums.mean(kSquaredError));
  }
  // The share of the variance that predictions explain.
  static double explained(const MeasureSums& sums) {
    const double mean = sums.mean(kTarget);
    return 1 -
           sums.mean(kSquaredError) / (sums.mean(kTargetSquare) - mean * mean);
  }

  double delta_;
  NumberScale scale_;
  std::string label_ = "target";
};

std::unique_ptr<TrainingTask> make_regression(const Options& options) {
  const bool is_huber = option<std::string>(options, "loss") == "huber";
  return std::make_unique<Regression>(
      is_huber ? option<double>(options, "delta") : 0.0);
}

}  // namespace

void register_training_task_regression(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "regression",
             .summary = "rows or images to a number",
             .options = {{"loss",
                          std::string("mse"),
                          "squared errors, or large ones by their size",
                          {},
                          {"mse", "huber"}},
                         {"delta", 1.0,
                          "of huber: standard deviations from which errors "
                          "count by size, and not by square",
                          kPositive}},
             .make = make_regression});
}

}  // namespace weft
