// The tasks of yes or no, of several labels, and of numbers.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/data/table.h"
#include "weft/nn/nn.h"
#include "weft/runtime/eager.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/step/logistic_loss.h"

namespace weft::row_tasks_test {
namespace {

using test::expect_error;

TEST(LogisticLoss, IsTheLogarithmOfTheProbability) {
  const Tensor logits = Tensor::of<double>({5}, {-700, -1.5, 0, 2, 700});
  for (const double target : {0.0, 1.0}) {
    for (const double weight : {1.0, 3.0}) {
      const Tensor targets =
          Tensor::of<double>({5}, {target, target, target, target, target});
      Tape tape;
      Value z = logits;
      tape.watch(z);
      const Value loss = logistic_loss(z, targets, weight);
      const Tensor slope = tape.gradient(loss, {&z, 1})[0].tensor();
      for (int i = 0; i < 5; ++i) {
        const double x = logits.item(i);
        const double own = target == 1 ? x : -x;  // of what is right
        const double factor = target == 1 ? weight : 1;
        const double expected = own > 0 ? std::log1p(std::exp(-own))
                                        : std::log1p(std::exp(own)) - own;
        EXPECT_NEAR(loss.tensor().item(i), factor * expected,
                    1e-12 * std::fabs(x) + 1e-15);
        const double probability = 1 / (1 + std::exp(-x));
        EXPECT_NEAR(slope.item(i), factor * (probability - target), 1e-12);
      }
    }
  }
}

// What a layer answers is its input.
nn::Sequential echo() {
  return nn::Sequential{[](const Value& x) { return x; }};
}

DatasetRef table_of(const std::string& text, TableOptions options = {}) {
  options.standardize = false;
  return parse_table(text, "t.csv", options);
}

// The scores of answers to the labels of `data`.
Scores scores_of(TrainingTask& task, const Dataset& data,
                 const std::vector<Tensor>& batch) {
  EXPECT_FALSE(task.declines(data));
  task.fit(data);
  auto model = echo();
  const Objective found =
      task.objective(model, std::vector<Value>{batch[0], batch[1]});
  MeasureSums sums;
  for (const Measure& measure : found.measures) {
    for (std::int64_t i = 0; i < measure.sum.tensor().size(); ++i) {
      sums.ratios().push_back(
          {measure.sum.tensor().item(i), measure.count.tensor().item()});
    }
  }
  EXPECT_NEAR(found.loss.tensor().item(), sums.loss(), 1e-6);
  return {task.metrics(), sums};
}

TEST(Binary, CountsWhatItSays) {
  const auto data = table_of("1,no\n2,yes\n");
  // Sigmoids .73, .27, .88, .12, and .5, which is said to be so.
  const std::vector<Tensor> batch{
      Tensor::of<float>({5, 1}, {1, -1, 2, -2, 0}),
      Tensor::of<std::int32_t>({5}, {1, 1, 0, 0, 1})};
  const auto task = make_task("binary");
  const Scores scores = scores_of(*task, *data, batch);
  EXPECT_NEAR(scores.get("accuracy"), 3.0 / 5, 1e-6);
  EXPECT_NEAR(scores.get("precision"), 2.0 / 3, 1e-6);
  EXPECT_NEAR(scores.get("recall"), 2.0 / 3, 1e-6);
  // The positive one is above in 3 of 6 pairs.
  EXPECT_NEAR(scores.get("auc"), 0.5, 1e-6);
  EXPECT_EQ(scores.loss(), scores.get("log_loss"));

  // The other class is the one, and seldom said.
  const auto other = make_task(
      "binary",
      {{"positive", "no"}, {"threshold", 0.8}, {"positive_weight", 2.0}});
  const Scores flipped = scores_of(*other, *data, batch);
  EXPECT_NEAR(flipped.get("accuracy"), 4.0 / 5, 1e-6);
  EXPECT_NEAR(flipped.get("precision"), 1.0, 1e-6);
  EXPECT_NEAR(flipped.get("recall"), 0.5, 1e-6);
  EXPECT_GT(flipped.loss(), flipped.get("log_loss"));
}

TEST(Binary, AreaUnderTheCurveIsThatOfAllPairs) {
  const auto data = table_of("1,no\n2,yes\n");
  const std::int64_t count = 300;
  const Tensor logits = test::pattern({count, 1}, -3, 3, 4);
  const Tensor noise = test::pattern({count}, -3, 3, 5);
  const Tensor labels = Tensor::zeros({DType::kI32, {count}});
  double pairs = 0;
  double all = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    labels.data<std::int32_t>()[i] = logits.item(i) + noise.item(i) > 0;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < count; ++k) {
      if (labels.item(i) == 0 || labels.item(k) == 1) continue;
      all += 1;
      pairs += logits.item(i) > logits.item(k) ? 1 : 0;
    }
  }
  const auto task = make_task("binary");
  EXPECT_NEAR(scores_of(*task, *data, {logits, labels}).get("auc"), pairs / all,
              0.002);
  // One class alone has no pairs.
  EXPECT_TRUE(
      std::isnan(scores_of(*task, *data, {logits, Tensor::zeros(labels.type())})
                     .get("auc")));
}

TEST(MultiLabel, CountsLabelsAndRows) {
  const auto data = table_of("n,a,b\n1,0,1\n2,1,0\n", {.label = {"a", "b"}});
  const auto task = make_task("multi-label");
  const Scores scores =
      scores_of(*task, *data,
                {Tensor::of<float>({3, 2}, {1, -1, 1, 1, -1, -1}),
                 Tensor::of<float>({3, 2}, {1, 0, 0, 1, 1, 0})});
  EXPECT_NEAR(scores.get("subset_accuracy"), 1.0 / 3, 1e-6);
  EXPECT_NEAR(scores.get("hamming"), 2.0 / 6, 1e-6);
  // Said 3, so 3, both 2.
  EXPECT_NEAR(scores.get("micro_f1"), 4.0 / 6, 1e-6);
}

TEST(Regression, TellsErrorsInTheUnitOfTheData) {
  // Mean 20, deviation 10.
  const auto data = table_of("1,10.0\n2,30.0\n", {.numbers = {"2"}});
  const std::vector<Tensor> batch{
      Tensor::of<float>({4, 1}, {0, 1, -1, 0}),  // 20, 30, 10, 20
      Tensor::of<float>({4}, {20, 35, 15, 60})};
  const auto task = make_task("regression");
  const Scores scores = scores_of(*task, *data, batch);
  EXPECT_NEAR(scores.get("rmse"), std::sqrt((25 + 25 + 1600) / 4.0), 1e-4);
  EXPECT_NEAR(scores.get("mae"), 50 / 4.0, 1e-4);
  const double variance = (400 + 35 * 35 + 15 * 15 + 3600) / 4.0 - 32.5 * 32.5;
  EXPECT_NEAR(scores.get("r2"), 1 - 1650 / 4.0 / variance, 1e-5);
  EXPECT_NEAR(scores.loss(), 1650 / 4.0 / 100, 1e-5);
  // The errors, in deviations, are 0, 0.5 and 0.5 within, 4 beyond.
  const auto huber = make_task("regression", {{"loss", "huber"}});
  EXPECT_NEAR(scores_of(*huber, *data, batch).loss(), (0.125 + 0.125 + 3.5) / 4,
              1e-6);
  auto model = echo();
  EXPECT_TRUE(test::near(
      task->prediction(model, std::vector<Value>{batch[0]})[0].tensor(),
      Tensor::of<float>({4}, {20, 30, 10, 20}), 1e-5));
}

TEST(RowTasks, RefuseDataThatDoesNotSuit) {
  const auto numbers = table_of("1,0.5\n2,0.7\n");
  const auto three = table_of("1,a\n2,b\n3,c\n");
  const auto several = table_of("n,a,b\n1,0,1\n2,1,0\n", {.label = {"a", "b"}});
  const auto refuses = [](const char* task, const DatasetRef& data,
                          const char* hint) {
    expect_error(ErrorCode::kInvalidArgument, {"task", hint},
                 [&] { check_data(task, *make_task(task), *data); });
  };
  refuses("binary", three, "classification");
  refuses("binary", numbers, "two classes");
  refuses("regression", three, "data.numbers");
  refuses("regression", several, "no numbers");
  refuses("multi-label", three, "data.label");
  refuses("classification", several, "multi-label");
  expect_error(ErrorCode::kInvalidArgument, {"'maybe'", "no, yes"}, [] {
    check_data("binary", *make_task("binary", {{"positive", "maybe"}}),
               *table_of("1,no\n2,yes\n"));
  });
  for (const auto& [task, options] :
       std::vector<std::pair<const char*, Options>>{
           {"binary", {{"threshold", 1.0}}},
           {"binary", {{"positive_weight", 0.0}}},
           {"multi-label", {{"threshold", 0.0}}},
           {"regression", {{"loss", "l1"}}},
           {"regression", {{"delta", -1.0}}}}) {
    expect_error(
        ErrorCode::kInvalidArgument, {task},
        [&, task = task, options = options] { make_task(task, options); });
  }
}

}  // namespace
}  // namespace weft::row_tasks_test
