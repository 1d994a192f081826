// Private training by a loop of one's own, against runs of recipes.
#include "weft/train/private_optimizer.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/secret_keys.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/files/safetensors.h"
#include "weft/nn/scope.h"
#include "weft/ops/ops.h"
#include "weft/train/private_run.h"
#include "weft/train/trainer.h"

namespace weft::private_optimizer_test {
namespace {

using test::expect_error;
using test::key_of;
using test::numbers;
using test::TemporaryFolder;

std::vector<VariableRef> trained(const nn::Module& model) {
  std::vector<VariableRef> variables;
  for (const auto& [name, parameter] : model.parameters()) {
    if (parameter->is_trainable()) {
      variables.push_back(parameter->variable.state());
    }
  }
  return variables;
}

// The rows that count, without those that fill up a batch.
std::vector<Tensor> without_padding(const Batch& batch) {
  std::vector<Tensor> rows;
  for (const Tensor& tensor : batch.tensors) {
    rows.push_back(tensor.slice(0, batch.size));
  }
  return rows;
}

// The same key, batches and first weights: what a recipe's run and a loop end
// with is the same, to the last bit.
TEST(PrivateOptimizer, DoesWhatARecipeDoes) {
  set_thread_count(1);
  const TemporaryFolder root;
  const auto folder = root.path() / "run";
  const Recipe recipe =
      parse_recipe(R"(
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.05
[train]
epochs = 2
batch = 100
max_steps = 20
[privacy]
noise = 1.1
clip_norm = 0.7
)",
                   "test", std::vector{"log.folder=" + folder.string()});
  std::filesystem::create_directories(folder);
  write_key(folder / "privacy.key", key_of(7));
  TrainObserver quiet;
  Trainer(recipe, {.name = "test", .is_resumed = true}).run(quiet);

  const PoissonSampling sampling{.expected = 100, .key = key_of(7)};
  Assembly assembly = assemble(recipe, 1, {}, sampling);
  nn::Module& model = *assembly.model;
  model.initialize(static_cast<std::uint64_t>(recipe.train.seed));
  model.train(true);
  VariableUpdater updater(make_optimizer("momentum", {}), trained(model), 0.05);
  const auto& data = assembly.data->description();
  PrivateOptimizer training(
      updater,
      [&](std::span<const Value> example) {
        return assembly.task->objective(model, example).loss;
      },
      {.examples = dynamic_cast<const Dataset&>(data).size(),
       .batch = 100,
       .clip_norm = 0.7,
       .noise = 1.1,
       .key = key_of(7)});
  const auto source = assembly.data->train(Shard());
  for (int step = 0; step < 20; ++step) {
    const Batch& batch = source->next();
    ASSERT_EQ(std::ssize(training.sample()), batch.size);
    EXPECT_GT(training.update(without_padding(batch)), 0);
  }
  const SafetensorsFile kept(folder / "last.safetensors");
  for (const auto& [name, parameter] : model.parameters()) {
    EXPECT_EQ(numbers(kept.read(name)), numbers(parameter->variable.tensor()))
        << name;
  }

  // What was given away is what the run says.
  PrivateRun run(recipe, nullptr, {}, false);
  run.fit(recipe, assembly);
  EXPECT_DOUBLE_EQ(
      training.epsilon(1e-5),
      privacy::epsilon_of(run.mechanisms(), 1e-5, privacy::Accounting::kRenyi));
}

// A least-squares line, of which everything is known by hand.
class Line {
 public:
  Line() : weight_(Tensor::of<float>({2, 1}, {0, 0}), {.name = "weight"}) {}

  Value loss(std::span<const Value> example) const {
    const Value error = matmul(example[0], weight_.read()) - example[1];
    return sum(error * error * scale_.read());
  }
  // Rows (i, 1) with the target 3 i - 2, of numbers below 1.
  static std::vector<Tensor> batch(const std::vector<std::int64_t>& rows) {
    const auto count = static_cast<Dim>(rows.size());
    Tensor x = Tensor::zeros({DType::kF32, {count, 2}});
    Tensor y = Tensor::zeros({DType::kF32, {count, 1}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float at = static_cast<float>(rows[i]) / 100;
      x.data<float>()[2 * i] = at;
      x.data<float>()[2 * i + 1] = 1;
      y.data<float>()[i] = 3 * at - 2;
    }
    return {x, y};
  }
  const Variable& weight() const { return weight_; }
  const Variable& scale() const { return scale_; }

 private:
  Variable weight_;
  Variable scale_{Tensor::scalar(1.0f),
                  {.name = "scale", .is_trainable = false}};
};

PrivateLoop small_loop() {
  return {.examples = 100,
          .batch = 20,
          .clip_norm = 1e3,
          .noise = 1e-9,
          .key = key_of(1)};
}

PrivateOptimizer::Loss loss_of(const Line& line) {
  return [&line](std::span<const Value> example) { return line.loss(example); };
}

TEST(PrivateOptimizer, AddsUpWhoJoined) {
  set_thread_count(1);
  const Line line;
  VariableUpdater sgd(make_optimizer("sgd", {}), {line.weight().state()}, 0.1);
  PrivateOptimizer training(sgd, loss_of(line), small_loop());
  for (int step = 0; step < 3; ++step) {
    // A variable that is not trained is read as it is in each step.
    line.scale().assign(Tensor::scalar(1.0f + static_cast<float>(step)));
    const auto rows = training.sample();
    const auto before = numbers(line.weight().tensor());
    std::array<double, 2> sum{};
    double loss = 0;
    for (const std::int64_t row : rows) {
      const double x = static_cast<double>(row) / 100;
      const double error = before[0] * x + before[1] - (3 * x - 2);
      sum[0] += 2 * (1 + step) * error * x;
      sum[1] += 2 * (1 + step) * error;
      loss += (1 + step) * error * error;
    }
    EXPECT_NEAR(training.update(Line::batch(rows)),
                loss / static_cast<double>(rows.size()), 1e-5);
    const auto after = numbers(line.weight().tensor());
    // The mean is over the 20 that were expected.
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(after[i], before[i] - 0.1 * sum[i] / 20, 1e-6);
    }
  }
}

// Batches that are computed in parts are the same batches.
TEST(PrivateOptimizer, ComputesInParts) {
  set_thread_count(1);
  std::vector<std::vector<double>> found;
  for (const std::int64_t rows : {0, 7}) {
    const Line line;
    VariableUpdater sgd(make_optimizer("sgd", {}), {line.weight().state()},
                        0.1);
    PrivateLoop options = small_loop();
    options.noise = 0.5;
    options.clip_norm = 0.3;
    options.rows = rows;
    PrivateOptimizer training(sgd, loss_of(line), options);
    for (int step = 0; step < 4; ++step) {
      training.update(Line::batch(training.sample()));
    }
    found.push_back(numbers(line.weight().tensor()));
  }
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(found[0][i], found[1][i], 1e-5);
}

TEST(PrivateOptimizer, KeepsItsGuarantee) {
  const Line line;
  VariableUpdater sgd(make_optimizer("sgd", {}), {line.weight().state()}, 0.1);
  PrivateLoop options{.examples = 100, .batch = 5, .epsilon = 2, .steps = 6};
  PrivateOptimizer training(sgd, loss_of(line), options);
  EXPECT_EQ(training.epsilon(1e-5), 0);
  double before = 0;
  for (int step = 0; step < 6; ++step) {
    training.update(Line::batch(training.sample()));
    const double now = training.epsilon(1e-5);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_LE(before, 2);
  EXPECT_GE(before, 1.98);
  expect_error(ErrorCode::kExhausted, {"all 6 steps"},
               [&] { training.sample(); });
  // Another object draws another key.
  PrivateOptimizer other(sgd, loss_of(line), options);
  other.step().assign(Tensor::scalar(3.0));
  training.step().assign(Tensor::scalar(3.0));
  EXPECT_NE(training.sample(), other.sample());
}

// A batch that nobody joins is noise.
TEST(PrivateOptimizer, TakesEmptyBatches) {
  const Line line;
  VariableUpdater sgd(make_optimizer("sgd", {}), {line.weight().state()}, 0.1);
  PrivateLoop options = small_loop();
  options.batch = 1;
  options.noise = 1;
  PrivateOptimizer training(sgd, loss_of(line), options);
  int empty = 0;
  for (int step = 0; step < 30; ++step) {
    const auto rows = training.sample();
    const auto before = numbers(line.weight().tensor());
    const double loss = training.update(Line::batch(rows));
    EXPECT_EQ(std::isnan(loss), rows.empty());
    EXPECT_NE(numbers(line.weight().tensor()), before);
    empty += rows.empty() ? 1 : 0;
  }
  EXPECT_GT(empty, 0);
}

// The loss of one example is a number, and its gradients are not: the root of 0
// has no slope.
TEST(PrivateOptimizer, NamesAnExampleThatCannotBeClipped) {
  const Line line;
  VariableUpdater sgd(make_optimizer("sgd", {}), {line.weight().state()}, 0.1);
  for (const std::int64_t rows : {0, 4}) {
    PrivateLoop options = small_loop();
    options.rows = rows;
    PrivateOptimizer training(
        sgd,
        [&](std::span<const Value> example) {
          const Value told = matmul(example[0], line.weight().read());
          return sum(sqrt(square(told) + example[1]));
        },
        options);
    std::vector<Tensor> batch = Line::batch(training.sample());
    std::ranges::fill(batch[1].span<float>(), 1.0f);
    batch[1].data<float>()[6] = 0;
    expect_error(ErrorCode::kNumeric,
                 {"private training", "example 7 of the batch", "not finite"},
                 [&] { training.update(batch); });
    EXPECT_EQ(training.step().tensor().item(), 0);
    EXPECT_EQ(numbers(line.weight().tensor()), (std::vector<double>{0, 0}));
    batch[1].data<float>()[6] = 1;
    EXPECT_GT(training.update(batch), 0);
    line.weight().assign(Tensor::zeros({DType::kF32, {2, 1}}));
  }
}

TEST(PrivateOptimizer, RefusesWhatItCannotPromise) {
  const Line line;
  VariableUpdater sgd(make_optimizer("sgd", {}), {line.weight().state()}, 0.1);
  const auto refused = [&](std::initializer_list<std::string> parts,
                           const PrivateLoop& options) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { PrivateOptimizer(sgd, loss_of(line), options); });
  };
  refused({"one of noise and epsilon"}, {.examples = 100, .batch = 20});
  refused({"one of noise and epsilon"},
          {.examples = 100, .batch = 20, .noise = 1, .epsilon = 1});
  refused({"a number of steps"}, {.examples = 100, .batch = 20, .epsilon = 1});
  refused({"cannot be drawn"}, {.examples = 100, .batch = 200, .noise = 1});
  refused({"clip_norm"},
          {.examples = 100, .batch = 20, .clip_norm = 0, .noise = 1});
  PrivateOptimizer training(sgd, loss_of(line), small_loop());
  auto rows = training.sample();
  rows.pop_back();
  expect_error(ErrorCode::kInvalidArgument,
               {"examples have joined", "sample()"},
               [&] { training.update(Line::batch(rows)); });
  // A step that would learn what is no number changes nothing.
  line.scale().assign(Tensor::scalar(INFINITY));
  expect_error(ErrorCode::kNumeric, {"the loss of step 1"},
               [&] { training.update(Line::batch(training.sample())); });
  EXPECT_EQ(training.step().tensor().item(), 0);
  EXPECT_EQ(numbers(line.weight().tensor()), (std::vector<double>{0, 0}));
  line.scale().assign(Tensor::scalar(1.0f));
  // What a loss keeps of examples by itself has no noise.
  PrivateOptimizer keeping(
      sgd,
      [&](std::span<const Value> example) {
        line.scale().assign(sum(example[1]));
        return line.loss(example);
      },
      small_loop());
  expect_error(ErrorCode::kInvalidArgument, {"assigns 'scale'"},
               [&] { keeping.update(Line::batch(keeping.sample())); });
}

}  // namespace
}  // namespace weft::private_optimizer_test
