// weft-bench attacks --rule TEXT --attack NAME --data DIR --workers N --liars F
// --batch B --steps S --rate R --divisor D --every K: trains a network for
// CIFAR-10 of a D-th of the width of Damaskinos et al. ("AggregaThor", MLSys
// 2019) by N workers, F of which lie. Says how accurate it is on the held-out
// images, every K steps and at the end, and for how long a worker computes.
//
// One server has all gradients, as one bucket. Workers compute one after the
// other; liars see what they have computed (tests/support/attacks.h).
#include "tests/support/attacks.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <optional>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "tests/support/rule_steps.h"

#include "weft/base/stopwatch.h"
#include "weft/data/fetch.h"
#include "weft/data/loader.h"
#include "weft/nn/layer_def.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/step/step.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kHeldOut = 2000;
constexpr std::int32_t kClasses = 10;

// conv 5x5x64, pool, conv 5x5x64, pool, 384, 192, 10, each a divisor-th.
std::vector<std::string> layers(std::int64_t divisor) {
  const std::string conv = fmt::format("conv2d({}, kernel=5)", 64 / divisor);
  const std::string pool = "max-pool(3, stride=2, padding=1)";
  const auto linear = [&](std::int64_t width) {
    return fmt::format("linear({})", width / divisor);
  };
  return {conv,      "relu",      pool,   conv,        "relu", pool,
          "flatten", linear(384), "relu", linear(192), "relu", "linear(10)"};
}

Tensor flipped(const Tensor& labels) {
  const Tensor result = labels.clone();
  for (std::int32_t& label : result.span<std::int32_t>()) {
    label = kClasses - 1 - label;
  }
  return result;
}

class Training {
 public:
  Training(std::int64_t divisor, std::int64_t batch, std::int64_t held_out)
      : stack_(network(divisor)),
        task_(make_task("classification")),
        optimizer_(make_optimizer("momentum", {})),
        description_(describe(batch)),
        whole_(describe(held_out)) {
    trainable_ = description_.tensors(EntryRole::kParameter);
    for (const NamedTensor& named : trainable_) {
      gradients_.push_back(Tensor::zeros(named.tensor.type()));
      size_ += static_cast<std::size_t>(named.tensor.size());
    }
    description_.set_gradients(gradients_);
    backward_.emplace(description_, StepCut::kGradients);
    StepDescription update(*optimizer_, trainable_, /*clip_norm=*/0);
    update.set_gradients(gradients_);
    update_.emplace(update, StepCut::kUpdate);
  }

  std::size_t size() const { return size_; }

  test::Gradient gradient(const Tensor& images, const Tensor& labels) {
    const std::vector<Tensor> batch{images, labels};
    const Stopwatch watch;
    backward_->run(batch, {.number = steps_});
    computing_.push_back(watch.seconds());
    return row_of(gradients_);
  }

  // The median of all gradients' seconds.
  double computing_seconds() const {
    std::vector<double> seconds = computing_;
    const auto middle = seconds.begin() + std::ssize(seconds) / 2;
    std::ranges::nth_element(seconds, middle);
    return *middle;
  }

  std::vector<float> parameters() const {
    std::vector<Tensor> tensors;
    for (const NamedTensor& named : trainable_) tensors.push_back(named.tensor);
    return row_of(tensors);
  }

  void apply(const test::Gradient& gradient, double rate) {
    std::size_t at = 0;
    for (const Tensor& each : gradients_) {
      for (float& value : Tensor(each).span<float>()) value = gradient[at++];
    }
    update_->run({}, {.lr = rate, .number = steps_++});
  }

  double accuracy(const DatasetSplits& data) {
    Evaluation evaluation(
        whole_,
        std::make_unique<Loader>(data.test, LoaderOptions{.batch = kHeldOut}));
    return Scores(task_->metrics(), evaluation.run()).get("accuracy");
  }

 private:
  static LayerStack network(std::int64_t divisor) {
    LayerStack stack = stack_layers(layers(divisor), {.example = {32, 32, 3}});
    stack.layers.initialize(1);
    return stack;
  }

  StepDescription describe(std::int64_t batch) {
    return {stack_.layers,
            *task_,
            {{"image", {DType::kF32, {batch, 32, 32, 3}}},
             {"label", {DType::kI32, {batch}}}}};
  }

  static std::vector<float> row_of(const std::vector<Tensor>& tensors) {
    std::vector<float> row;
    for (const Tensor& each : tensors) {
      const auto values = each.span<float>();
      row.insert(row.end(), values.begin(), values.end());
    }
    return row;
  }

  LayerStack stack_;
  std::unique_ptr<TrainingTask> task_;
  std::unique_ptr<Optimizer> optimizer_;
  StepDescription description_;
  StepDescription whole_;
  std::vector<NamedTensor> trainable_;
  std::vector<Tensor> gradients_;
  std::size_t size_ = 0;
  std::optional<Step> backward_;
  std::optional<Step> update_;
  std::int64_t steps_ = 0;
  std::vector<double> computing_;
};

}  // namespace

void train_under_attack(const WorkerOptions& options) {
  const std::int64_t batch = options.integer("batch");
  const std::int64_t workers = options.integer("workers");
  const std::int64_t liars = options.integer("liars");
  const std::string rule = options.text("rule");
  const double rate = std::stod(options.text("rate"));
  const test::Attack& attack = test::attack_of(options.text("attack"));
  const DatasetSplits data = open_data({.name = "cifar10",
                                        .folder = options.text("data"),
                                        .batch = batch * workers,
                                        .steps = 1});
  Loader loader(data.train, {.batch = batch * workers,
                             .shuffle = true,
                             .drop_last = true,
                             .seed = 1});
  const std::int64_t every = options.integer("every");
  Training training(options.integer("divisor"), batch, kHeldOut);
  const auto count = static_cast<int>(workers);
  test::RuleSteps combine(rule, count, training.size());
  std::vector<test::Gradient> first;
  RuleFigures figures;
  Json curve = Json::array();
  for (std::int64_t step = 0; step < options.integer("steps"); ++step) {
    const Batch& whole = loader.next();
    std::vector<test::Gradient> sent;
    std::vector<test::Gradient> own;
    for (std::int64_t i = 0; i < workers; ++i) {
      const Tensor images = whole.tensors[0].slice(i * batch, (i + 1) * batch);
      const Tensor labels = whole.tensors[1].slice(i * batch, (i + 1) * batch);
      const bool is_liar = i >= workers - liars;
      (is_liar ? own : sent)
          .push_back(training.gradient(images, is_liar && attack.flips_labels
                                                   ? flipped(labels)
                                                   : labels));
    }
    const std::vector<float> parameters = training.parameters();
    if (step == 0) first = own;
    const test::AttackScene scene{
        .right = sent,
        .own = own,
        .first = first,
        .step = step,
        .rule = [&](std::span<const test::Gradient> all) {
          // Liars know the rule, and not what it remembers.
          return test::RuleSteps(rule, count, training.size())
              .mean_of(all, parameters);
        }};
    for (test::Gradient& lie : attack.lies(scene)) {
      sent.push_back(std::move(lie));
    }
    training.apply(combine.mean_of(sent, parameters), rate);
    figures = combine.figures();
    if ((step + 1) % every == 0) {
      curve.push_back({step + 1, training.accuracy(data)});
    }
  }
  const auto known = [](double figure) {
    return std::isfinite(figure) ? Json(figure) : Json();
  };
  fmt::print("{}\n", Json{{"accuracy", training.accuracy(data)},
                          {"curve", curve},
                          {"computing_seconds", training.computing_seconds()},
                          {"selected", known(figures.selected)},
                          {"margin", known(figures.margin)},
                          {"parameters", training.size()}}
                         .dump());
}

}  // namespace weft::bench
