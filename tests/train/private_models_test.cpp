// Private steps of models of all kinds: many examples at once against each by
// itself.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/trees.h"
#include "tests/support/values.h"

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/data/batch_source.h"
#include "weft/files/safetensors.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/sequential.h"
#include "weft/ops/ops.h"
#include "weft/train/memory_forecast.h"
#include "weft/train/private_worker.h"
#include "weft/train/step/one_by_one.h"
#include "weft/train/trainer.h"

namespace weft::private_models_test {
namespace {

using test::expect_error;
using test::numbers;
using test::TemporaryFolder;

Tensor drawn(const Shape& shape, std::int64_t below, std::uint64_t seed) {
  Tensor tensor = Tensor::zeros({DType::kI32, shape});
  const auto reals = numbers(test::pattern(shape, 0, 1, seed));
  for (std::size_t i = 0; i < reals.size(); ++i) {
    tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(
        reals[i] * 0.999 * static_cast<double>(below));
  }
  return tensor;
}

// What a step over the first `present` rows leaves, all gradients in a row.
struct Sums {
  std::vector<double> gradients;
  MeasureSums measures;
};

class Compared {
 public:
  Compared(nn::Module& model, const std::string& task,
           std::vector<Tensor> tensors)
      : model_(model), task_(make_task(task)), tensors_(std::move(tensors)) {
    model.initialize(3);
    set_thread_count(1);
  }

  Sums batched(double norm, std::int64_t present) {
    StepOptions options;
    options.privacy = {.clip_norm = norm};
    Step step = step_of(options);
    step.run(tensors_, {.present = present});
    return {all(), step.measures()};
  }
  Sums one_by_one(double norm, std::int64_t present) {
    Step step = step_of({});
    OneByOne examples(gradients_, norm);
    Batch batch{.tensors = tensors_, .size = present, .position = {}};
    const MeasureSums measures = examples.run(step, batch, 0, 0);
    return {all(), measures};
  }

  void expect_same(double norm, std::int64_t present) {
    const Sums apart = one_by_one(norm, present);
    const Sums together = batched(norm, present);
    ASSERT_EQ(apart.gradients.size(), together.gradients.size());
    double most = 0;
    for (const double each : apart.gradients) {
      most = std::max(most, std::abs(each));
    }
    ASSERT_GT(most, 0);
    for (std::size_t i = 0; i < apart.gradients.size(); ++i) {
      ASSERT_NEAR(apart.gradients[i], together.gradients[i], 1e-4 * most) << i;
    }
    EXPECT_NEAR(apart.measures.loss(), together.measures.loss(), 1e-4);
    EXPECT_EQ(apart.measures.ratios()[0].count,
              together.measures.ratios()[0].count);
  }

 private:
  Step step_of(const StepOptions& options) {
    std::vector<BatchInput> inputs;
    for (const Tensor& tensor : tensors_) {
      inputs.push_back({fmt::format("input{}", inputs.size()), tensor.type()});
    }
    const auto optimizer = make_optimizer("sgd", {});
    StepDescription description(model_, *task_, inputs, options,
                                optimizer.get());
    gradients_.clear();
    for (const auto& each : description.updated()) {
      gradients_.push_back(
          Tensor::zeros(description.entries()[each.parameter].type));
    }
    description.set_gradients(gradients_);
    return Step(description, StepCut::kGradients);
  }
  std::vector<double> all() const {
    std::vector<double> all;
    for (const Tensor& gradient : gradients_) {
      for (const double each : numbers(gradient)) all.push_back(each);
    }
    return all;
  }

  nn::Module& model_;
  std::unique_ptr<TrainingTask> task_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> gradients_;
};

std::unique_ptr<nn::Module> made(const std::string& name,
                                 const ModelInput& input, Options options) {
  return build_model(model_registry().get(name), input, options);
}

// Windows of text: embeddings of words that come again, recurrent layers, and
// the same word in several places of a window.
TEST(PrivateModels, ReadWindowsOfText) {
  constexpr Dim kWords = 7;
  const Shape windows{6, 5};
  const std::vector<Tensor> tensors{drawn(windows, kWords, 1),
                                    drawn(windows, kWords, 2)};
  const ModelInput input{.example = {5}, .classes = kWords};
  const auto lstm =
      made("lstm-lm", input,
           {{"hidden", std::int64_t{6}}, {"layers", std::int64_t{2}}});
  const auto gpt = made("gpt", input,
                        {{"layers", std::int64_t{2}},
                         {"width", std::int64_t{8}},
                         {"heads", std::int64_t{2}}});
  for (nn::Module* model : {lstm.get(), gpt.get()}) {
    Compared compared(*model, "language-model", tensors);
    // Some are clipped, all are, none is.
    for (const double norm : {1.0, 0.05, 1e4}) compared.expect_same(norm, 6);
    compared.expect_same(0.5, 4);
  }
}

// A model that calls itself: each tree by another recursion.
TEST(PrivateModels, CallThemselves) {
  const DatasetRef trees = test::tree_data(test::tree_lines(6, 5, 3));
  const std::vector<Tensor> tensors = test::tree_batch(*trees);
  const auto model = made(
      "tree-lstm",
      {.example = trees->features()[0].type.shape, .classes = 5, .words = 12},
      {{"hidden", std::int64_t{4}}, {"embedding", std::int64_t{5}}});
  Compared compared(*model, "tree-labels", tensors);
  for (const double norm : {1.0, 1e4}) compared.expect_same(norm, 6);
  compared.expect_same(2.0, 3);
}

// A loop that each example leaves when its own state is far enough, and a
// branch that each takes by itself.
class Halving : public nn::Layer {
 public:
  Halving()
      : in_(child("in", nn::Linear{3, 4})),
        step_(parameter("step", {4, 4}, nn::Init::fan_in(4))),
        out_(child("out", nn::Linear{4, 2})) {}

 protected:
  Value forward(const Value& x) override {
    const Value weight = nn::value_of(step_);
    const auto go_on = [](const std::vector<Value>& now) {
      return logical_and(
          less(now[1], scalar_like(now[1], 6)),
          greater(sum(now[0] * now[0]), scalar_like(now[1], 0.2)));
    };
    const auto step = [&](const std::vector<Value>& now) {
      return std::vector{tanh(matmul(now[0], weight)) * 0.9,
                         now[1] + scalar_like(now[1], 1)};
    };
    const Value state =
        while_loop({tanh(in_(x)), scalar_like(x, 0)}, go_on, step)[0];
    const Value flipped = cond(
        greater(sum(state), scalar_like(state, 0)),
        [&] { return std::vector{state}; },
        [&] { return std::vector{state * state}; })[0];
    return out_(flipped);
  }

 private:
  nn::Linear& in_;
  nn::ParameterRef step_;
  nn::Linear& out_;
};

TEST(PrivateModels, LoopAndBranch) {
  Halving model;
  Compared compared(model, "classification",
                    {test::pattern({7, 3}, -2, 2, 5), drawn({7}, 2, 6)});
  for (const double norm : {0.4, 1e4}) compared.expect_same(norm, 7);
  compared.expect_same(0.4, 5);
}

// Whichever way the examples are computed.
TEST(PrivateModels, NameAnExampleThatCannotBeClipped) {
  nn::Sequential plain{nn::Linear{3, 2}};
  Halving loop;
  for (nn::Module* model : std::initializer_list<nn::Module*>{&plain, &loop}) {
    Tensor x = test::pattern({7, 3}, -2, 2, 5);
    x.data<float>()[3 * 4] = INFINITY;
    Compared compared(*model, "classification", {x, drawn({7}, 2, 6)});
    const std::initializer_list<std::string> parts{
        "private training", "example 5 of the batch", "not finite"};
    expect_error(ErrorCode::kNumeric, parts, [&] { compared.batched(1, 7); });
    expect_error(ErrorCode::kNumeric, parts,
                 [&] { compared.one_by_one(1, 7); });
  }
}

// What fills up a batch that nobody joined says nothing, even if it is NaN.
TEST(PrivateModels, TakeABatchThatNobodyJoined) {
  nn::Sequential model{nn::Linear{3, 2}};
  model.initialize(3);
  const auto task = make_task("classification");
  const auto optimizer = make_optimizer("sgd", {});
  Tensor x = Tensor::zeros({DType::kF32, {4, 3}});
  std::ranges::fill(x.span<float>(), NAN);
  const Tensor labels = drawn({4}, 2, 6);
  StepOptions options;
  options.privacy = {.clip_norm = 1};
  const StepDescription description(model, *task,
                                    {{"x", x.type()}, {"label", labels.type()}},
                                    options, optimizer.get());
  PrivateWorker worker(description,
                       {.deviation = 0.5, .expected_batch = 4, .key = {}});
  const Batch batch{
      .tensors = {x, labels}, .size = 0, .padding = 4, .position = {}};
  const WorkerTotals totals = worker.run(batch, {.lr = 0.1});
  EXPECT_EQ(totals.sums.ratios()[0].count, 0);
  for (const auto& [name, tensor] : worker.state()) {
    for (const double each : numbers(tensor)) {
      EXPECT_TRUE(std::isfinite(each)) << name;
    }
  }
}

// A recipe of running text: its windows are the examples, which begin anew, so
// that nothing is carried, and none is kept in checkpoints.
TEST(PrivateModels, TrainOnRunningText) {
  const TemporaryFolder root;
  for (const char* part : {"train", "valid", "test"}) {
    std::string text;
    for (int i = 0; i < 900; ++i) {
      text += fmt::format("w{}{}", i * i % 17, i % 9 == 8 ? "\n" : " ");
    }
    write_file(root.path() / fmt::format("{}.txt", part), text);
  }
  const auto run = [&](const std::string& folder,
                       std::vector<std::string> overrides) {
    overrides.push_back("log.folder=" + (root.path() / folder).string());
    overrides.push_back("data.folder=" + root.path().string());
    TrainObserver quiet;
    return Trainer(parse_recipe(R"(
[model]
name = "lstm-lm"
hidden = 8
layers = 1
[data]
name = "text"
[optimizer]
name = "sgd"
lr = 1.0
[train]
epochs = 6
batch = 20
steps = 5
[privacy]
noise = 0.5
)",
                                "test", overrides),
                   {.name = "test"})
        .run(quiet);
  };
  const TrainResult result = run("a", {});
  EXPECT_EQ(result.steps, 6 * 9);     // of 180 windows
  EXPECT_LT(result.train_loss, 2.8);  // 17 words and <eos>: ln 18 = 2.89
  const SafetensorsFile kept(root.path() / "a" / "last.safetensors");
  EXPECT_EQ(kept.find("lstm.0.h"), nullptr);
  const auto weights = [&](const std::string& folder) {
    return numbers(SafetensorsFile(root.path() / folder / "last.safetensors")
                       .read("decoder.weight"));
  };
  EXPECT_NO_THROW(run("b", {"privacy.rows=8", "train.max_steps=9"}));
  EXPECT_NO_THROW(
      run("c", {"privacy.per_example=one by one", "train.max_steps=2"}));
  EXPECT_EQ(weights("b").size(), weights("c").size());
}

// What it takes to go one by one is told before.
TEST(PrivateModels, TellWhatOneByOneTakes) {
  const Recipe recipe = parse_recipe(R"(
[model]
name = "mlp"
[data]
name = "digits"
[optimizer]
name = "sgd"
[train]
batch = 40
[privacy]
noise = 1
per_example = "one by one"
)",
                                     "test");
  const MemoryForecast forecast = forecast_memory(recipe);
  EXPECT_EQ(forecast.one_by_one, 40);
  Recipe together = recipe;
  together.privacy.per_example = "batched";
  EXPECT_EQ(forecast_memory(together).one_by_one, 0);
  EXPECT_LT(forecast.train_step, forecast_memory(together).train_step);
}

// Statistics of a batch are made of other examples, however it is computed.
TEST(PrivateModels, HaveNoStatisticsOfBatches) {
  const TemporaryFolder root;
  expect_error(ErrorCode::kInvalidArgument, {"statistics of a batch"}, [&] {
    TrainObserver quiet;
    Trainer(
        parse_recipe(R"(
[model]
name = "resnet20"
[data]
name = "digits"
[optimizer]
name = "sgd"
[privacy]
noise = 1
per_example = "one by one"
)",
                     "test",
                     std::vector{"log.folder=" + (root.path() / "a").string()}),
        {.name = "test"})
        .run(quiet);
  });
}

}  // namespace
}  // namespace weft::private_models_test
