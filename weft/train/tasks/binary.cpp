// Rows or images to yes or no: one number, of which the sigmoid is the
// probability of the positive class.
#include <algorithm>

#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/train/step/logistic_loss.h"
#include "weft/train/step/row_predictor.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

// The area under the curve is computed from this many bins of the probability:
// pairs within one count half, so it is off by half their share at most.
constexpr std::int64_t kBins = 256;

enum BinaryMeasure : std::size_t {
  kWeightedLoss,
  kAccuracy,
  kPrecision,
  kRecall,
  kLogLoss,
  kPositives,  // by bins
  kNegatives = kPositives + kBins
};

struct BinaryOptions {
  std::string positive;
  double threshold = 0.5;
  double positive_weight = 1;
};

class Binary final : public TrainingTask {
 public:
  explicit Binary(BinaryOptions options) : options_(std::move(options)) {}

  std::vector<MetricDef> metrics() const override {
    const auto better = [](const char* name, std::size_t measure) {
      return MetricDef{
          .name = name, .measure = measure, .is_higher_better = true};
    };
    return {{.name = "loss"},
            better("accuracy", kAccuracy),
            better("precision", kPrecision),
            better("recall", kRecall),
            {.name = "log_loss", .measure = kLogLoss},
            {.name = "auc", .is_higher_better = true, .of = area_under_curve}};
  }
  std::vector<MeasureDef> measures() const override {
    return {{"loss"},     {"accuracy"},         {"precision"},       {"recall"},
            {"log_loss"}, {"positives", kBins}, {"negatives", kBins}};
  }
  std::string_view deciding_metric() const override { return "accuracy"; }
  std::string unit(const DataDescription& data) const override {
    return data.features()[0].type.shape.rank() == 3 ? "img" : "rows";
  }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.is_sequential() || !data.words().empty() ||
        data.features().size() != 2 || data.classes().size() != 2 ||
        data.features()[1].type.shape.rank() != 0) {
      return Refusal{in_quotes(data.name()),
                     "its examples are not of two classes",
                     "task.name = \"classification\" takes any number of them"};
    }
    const std::vector<std::string>& classes = data.classes();
    const std::string& positive = options_.positive;
    if (positive.empty() || std::ranges::count(classes, positive) > 0) {
      return std::nullopt;
    }
    return Refusal{
        in_quotes(data.name()), fmt::format("it has no class '{}'", positive),
        fmt::format("task.positive is one of: {}, {}", classes[0], classes[1])};
  }
  void fit(const DataDescription& data) override {
    // The second class is the positive one if none is named, as yes is beside
    // no, and 1 beside 0.
    positive_ = data.classes()[0] == options_.positive ? 0 : 1;
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = 1,
            .categories = data.category_counts()};
  }

  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const Value logits = logits_of(model, batch[0]);
    const Value is_positive = cast(
        equal(batch[1], scalar_like(batch[1], static_cast<double>(positive_))),
        DType::kF32);
    const Value count = element_count(is_positive.shape(), DType::kF32);
    // The plain loss is measured, too, so that runs with other weights can be
    // compared.
    const Value plain = sum(logistic_loss(logits, is_positive));
    // With a weight of 1 both are one value, which is computed once.
    const Value loss =
        options_.positive_weight == 1
            ? plain
            : sum(logistic_loss(logits, is_positive, options_.positive_weight));
    const Value probability = sigmoid(logits);
    const Value is_said =
        cast(greater_equal(probability,
                           scalar_like(probability, options_.threshold)),
             DType::kF32);
    const Value hits = sum(cast(equal(is_said, is_positive), DType::kF32));
    const Value true_positives = sum(is_said * is_positive);
    // A probability of 1 belongs to the last bin, and has none behind it.
    const Value bin = cast(
        clamp(floor(probability * static_cast<double>(kBins)), 0, kBins - 1),
        DType::kI32);
    return {loss / count,
            {{loss, count},
             {hits, count},
             // Precision and recall are ratios of sums over all batches: means
             // of the batches' ratios would be other numbers.
             {true_positives, sum(is_said)},
             {true_positives, sum(is_positive)},
             {plain, count},
             {scatter_add(is_positive, bin, kBins), count},
             {scatter_add(1 - is_positive, bin, kBins), count}}};
  }

  // The probability of the positive class, [N].
  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {sigmoid(logits_of(model, known[0]))};
  }

  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return predict_rows(context, [this, names = context.data.classes()](
                                     std::span<const float> told) {
      return tell(names, told[0]);
    });
  }

 private:
  static Value logits_of(nn::Module& model, const Value& input) {
    const Value out =
        nn::to_f32(model_as<nn::Layer>(model, "binary", "a layer")(input));
    return reshape(out, {out.shape()[0]});
  }

  // What is said goes by the threshold, and not by what is more probable.
  RowAnswer tell(const std::vector<std::string>& names, float positive) const {
    const bool is_said = positive >= static_cast<float>(options_.threshold);
    const std::size_t said = is_said ? positive_ : 1 - positive_;
    const float probability = is_said ? positive : 1 - positive;
    return {fmt::format("{}   probability {:.4f}", names[said], probability),
            {{"class", names[said]},
             {"probability", probability},
             {"classes",
              {{names[positive_], positive},
               {names[1 - positive_], 1 - positive}}}}};
  }

  // The probability that a positive example has a higher one than a negative
  // (Hanley and McNeil, 1982), from their histograms.
  static double area_under_curve(const MeasureSums& sums) {
    const auto& ratios = sums.ratios();
    double pairs = 0;
    double below = 0;
    double positives = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const double here = ratios[kNegatives + bin].sum;
      pairs += ratios[kPositives + bin].sum * (below + here / 2);
      below += here;
      positives += ratios[kPositives + bin].sum;
    }
    // Without examples of both kinds there are no pairs.
    return positives * below > 0 ? pairs / (positives * below) : kNotMeasured;
  }

  BinaryOptions options_;
  std::size_t positive_ = 1;
};

std::unique_ptr<TrainingTask> make_binary(const Options& options) {
  return std::make_unique<Binary>(BinaryOptions{
      .positive = option<std::string>(options, "positive"),
      .threshold = option<double>(options, "threshold"),
      .positive_weight = option<double>(options, "positive_weight")});
}

}  // namespace

void register_training_task_binary(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "binary",
             .summary = "rows or images to yes or no",
             .options = {{"positive", std::string(),
                          "the class that is yes; none: the second"},
                         {"threshold", 0.5,
                          "probability from which yes is said", kInside},
                         {"positive_weight", 1.0,
                          "how many times an example of it counts", kPositive}},
             .make = make_binary});
}

}  // namespace weft
