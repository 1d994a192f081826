#include "tests/support/train_step.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/heap_use.h"
#include "tests/support/values.h"

#include "weft/nn/nn.h"
#include "weft/optim/clip.h"
#include "weft/optim/variable_updater.h"
#include "weft/optim/wrapper.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/executable_cache.h"

namespace weft::train_step_test {
namespace {

nn::Sequential small_model() {
  nn::Sequential model{nn::Conv2d{1, 4, 3}, nn::BatchNorm{4}, nn::relu,
                       nn::Flatten{}, nn::Linear{64, 3}};
  model.initialize(5);
  return model;
}

std::vector<Tensor> batch_of(std::int64_t size) {
  const Tensor labels = Tensor::empty({DType::kI32, {size}});
  for (std::int64_t i = 0; i < size; ++i) {
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
  }
  return {test::pattern({size, 4, 4, 1}), labels};
}

std::vector<TensorType> types_of(const std::vector<Tensor>& batch) {
  return {batch[0].type(), batch[1].type()};
}

std::vector<VariableRef> trainable_of(const nn::Module& model) {
  std::vector<VariableRef> trainable;
  for (const auto& named : model.parameters()) {
    if (!named.parameter->is_trainable()) continue;
    trainable.push_back(named.parameter->variable.state());
  }
  return trainable;
}

std::vector<Value> values_of(const std::vector<VariableRef>& variables) {
  std::vector<Value> values;
  for (const auto& variable : variables) {
    values.push_back(Variable(variable).read());
  }
  return values;
}

// Ten times slower arithmetic is no price for values that change nothing.
TEST(TrainStep, TakesSubnormalsForZeros) {
  nn::Sequential model = small_model();
  const auto batch = batch_of(12);
  const auto optimizer = make_optimizer("sgd", {});
  test::TrainStep step(model, "classification", *optimizer, types_of(batch));
  const Tensor weights = Variable(trainable_of(model).back()).read().tensor();
  std::ranges::fill(weights.span<float>(), 1e-40f);
  step.run(batch, 0.0, 0);
  for (const float value : weights.span<float>()) EXPECT_EQ(value, 0);
  volatile float small = 1e-30f;
  EXPECT_NE(small * 1e-10f, 0) << "the caller's own arithmetic is as it was";
}

// Workers that take turns: one plan, and each its own values.
TEST(TrainStep, StepsThatShareTrainAsThoseThatDoNot) {
  const auto optimizer = make_optimizer("momentum", {});
  const auto batch = batch_of(12);
  const auto other = batch_of(9);
  ExecutableCache executables;
  std::vector<nn::Sequential> models;
  std::vector<std::unique_ptr<test::TrainStep>> steps;
  for (const bool is_shared : {false, true, true}) {
    models.push_back(small_model());
    steps.push_back(std::make_unique<test::TrainStep>(
        models.back(), "classification", *optimizer, types_of(batch),
        StepOptions{.executables = is_shared ? &executables : nullptr}));
  }
  EXPECT_EQ(executables.size(), 1u);
  for (int t = 0; t < 4; ++t) {
    // The third one is a step behind the others, and ends where they were.
    steps[0]->run(t % 2 == 0 ? batch : other, 0.1, t);
    steps[1]->run(t % 2 == 0 ? batch : other, 0.1, t);
    if (t > 0) steps[2]->run(t % 2 == 1 ? batch : other, 0.1, t - 1);
    EXPECT_EQ(steps[0]->loss(), steps[1]->loss());
  }
  steps[2]->run(other, 0.1, 3);
  for (const auto& sharing : {&steps[1], &steps[2]}) {
    const auto expected = steps[0]->state();
    const auto found = (*sharing)->state();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(identical(found[i].tensor, expected[i].tensor))
          << expected[i].name;
    }
  }
}

TEST(TrainStep, LossFalls) {
  auto model = small_model();
  const auto optimizer = make_optimizer("momentum", {});
  const auto batch = batch_of(12);
  test::TrainStep step(model, "classification", *optimizer, types_of(batch));
  step.run(batch, 0.1, 0);
  const double first = step.loss();
  EXPECT_NEAR(first, std::log(3.0f), 0.7);
  for (int i = 1; i < 60; ++i) step.run(batch, 0.1, i);
  EXPECT_LT(step.loss(), first / 4);
  EXPECT_EQ(step.correct(), 12);
}

// The staged step against the same few lines run eagerly with a tape.
TEST(TrainStep, EqualsEagerTraining) {
  auto staged = small_model();
  auto eager = small_model();
  const auto optimizer = make_optimizer("nesterov", {});
  const auto batch = batch_of(7);
  test::TrainStep step(staged, "classification", *optimizer, types_of(batch));
  VariableUpdater updater(make_optimizer("nesterov", {}), trainable_of(eager),
                          0.01);
  for (int t = 0; t < 3; ++t) {
    step.run(batch, 0.01, t);

    Tape tape;
    const std::vector<Value> wrt = values_of(trainable_of(eager));
    const Objective found =
        test::objective(eager, "classification", batch[0], batch[1]);
    updater.update(tape.gradient(found.loss, wrt));
    EXPECT_NEAR(found.loss.tensor().item(), step.loss(), 1e-4);
  }
  const auto a = staged.parameters();
  const auto b = eager.parameters();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(test::near(a[i].parameter->variable.tensor(),
                           b[i].parameter->variable.tensor(), 1e-4))
        << a[i].name;
  }
}

// Words that a batch does not have keep every bit; the others, also where they
// come again, are changed as the whole table would be, clipped like it.
TEST(TrainStep, ChangesTheRowsThatABatchHas) {
  constexpr double kClip = 0.3;
  const auto model_of = [] {
    nn::Sequential model{nn::Embedding{300, 4}, nn::Flatten{},
                         nn::Linear{12, 3}};
    model.initialize(5);
    return model;
  };
  auto staged = model_of();
  auto eager = model_of();
  const auto table_of = [](const nn::Module& model) {
    return model.parameters()[0].parameter->variable.tensor();
  };
  const Tensor before = table_of(staged).clone();
  const auto optimizer = make_optimizer("adagrad", {});
  auto batch = batch_of(5);
  batch[0] = Tensor::of<std::int32_t>(
      {5, 3}, {9, 9, 250, 9, 0, 17, 4, 9, 0, 250, 33, 9, 9, 4, 4});
  test::TrainStep step(staged, "classification", *optimizer, types_of(batch),
                       {.clip_norm = kClip});
  std::set<std::string> ops;
  for (const StepInfo& info : step.step().plan().steps()) ops.insert(info.name);
  EXPECT_TRUE(ops.contains("add_rows"));
  EXPECT_FALSE(ops.contains("scatter_add"));
  VariableUpdater updater(make_optimizer("adagrad", {}), trainable_of(eager),
                          0.1);
  for (int t = 0; t < 3; ++t) {
    step.run(batch, 0.1, t);
    Tape tape;
    const std::vector<Value> wrt = values_of(trainable_of(eager));
    const Objective found =
        test::objective(eager, "classification", batch[0], batch[1]);
    updater.update(clip_by_global_norm(tape.gradient(found.loss, wrt), kClip));
  }
  EXPECT_TRUE(test::near(table_of(staged), table_of(eager), 1e-5));
  const std::set<std::int64_t> touched{0, 4, 9, 17, 33, 250};
  for (std::int64_t row = 0; row < 300; ++row) {
    EXPECT_EQ(identical(table_of(staged).slice(row, row + 1),
                        before.slice(row, row + 1)),
              !touched.contains(row));
  }
}

// Both tables of a node embedding are looked up twice in a step, one of them by
// indices of two shapes, and batches are of any size.
TEST(TrainStep, ChangesTheRowsOfAllLookups) {
  const auto task = make_task("graph-embedding");
  const auto model_of = [&] {
    auto model = build_model(model_registry().get("node-embedding"),
                             {.example = {}, .classes = 300}, {{"width", 4}});
    model->initialize(5);
    return model;
  };
  const std::vector<Tensor> batch{
      Tensor::of<std::int32_t>({3}, {7, 250, 7}),
      Tensor::of<std::int32_t>({3}, {9, 0, 250}),
      Tensor::of<std::int32_t>({3, 4},
                               {0, 0, 4, 17, 9, 33, 4, 4, 17, 299, 0, 1})};
  const std::vector<BatchInput> inputs{{"node", batch[0].type()},
                                       {"near", batch[1].type()},
                                       {"others", batch[2].type()}};
  for (const bool is_lazy : {false, true}) {
    const auto make = [&] {
      return is_lazy ? wrap_optimizer(
                           make_optimizer("adamw", {{"weight_decay", 0.1}}),
                           {"lazy_rows"})
                     : make_optimizer("adagrad", {});
    };
    const auto optimizer = make();
    const auto staged = model_of();
    const auto eager = model_of();
    const StepDescription description(*staged, *task, inputs, {},
                                      optimizer.get());
    Step step(description, StepCut::kTrain);
    std::set<std::string> ops;
    for (const StepInfo& info : step.plan().steps()) ops.insert(info.name);
    EXPECT_TRUE(ops.contains("add_rows"));
    EXPECT_FALSE(ops.contains("scatter_add"));
    VariableUpdater updater(make(), trainable_of(*eager), 0.1);
    for (int t = 0; t < 4; ++t) {
      step.run(batch, {.lr = 0.1, .number = t});
      Tape tape;
      const std::vector<Value> wrt = values_of(trainable_of(*eager));
      const Objective found = task->objective(
          *eager, std::vector<Value>(batch.begin(), batch.end()));
      updater.update(tape.gradient(found.loss, wrt));
    }
    const auto tables = staged->parameters();
    ASSERT_EQ(tables.size(), 2u);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      EXPECT_TRUE(test::near(
          tables[i].parameter->variable.tensor(),
          eager->parameters()[i].parameter->variable.tensor(), 1e-5));
    }
  }
}

TEST(TrainStep, TakesSmallerLastBatches) {
  auto model = small_model();
  const auto optimizer = make_optimizer("sgd", {});
  const auto batch = batch_of(8);
  test::TrainStep step(model, "classification", *optimizer, types_of(batch));
  step.run(batch, 0.1, 0);
  step.run(batch_of(3), 0.1, 1);
  EXPECT_TRUE(std::isfinite(step.loss()));
  EXPECT_LE(step.correct(), 3);
}

TEST(TrainStep, NamesItsState) {
  auto model = small_model();
  const auto optimizer = make_optimizer("adam", {});
  const auto batch = batch_of(2);
  const test::TrainStep step(model, "classification", *optimizer,
                             types_of(batch));
  std::vector<std::string> names;
  for (const auto& named : step.state()) names.push_back(named.name);
  // Seven parameters (three of them statistics or shifts of the batch norm).
  EXPECT_EQ(names[0], "0.weight");
  EXPECT_NE(std::find(names.begin(), names.end(), "optimizer.v.4.bias"),
            names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "optimizer.m.1.running_mean"),
            names.end());
}

// Restoring the state in another step continues bit for bit: of all optimizers,
// each in all wrappers.
void expect_to_continue(const Optimizer& optimizer) {
  const auto batch = batch_of(6);
  auto first = small_model();
  test::TrainStep one(first, "classification", optimizer, types_of(batch));
  for (int t = 0; t < 3; ++t) one.run(batch, 0.01, t);

  auto second = small_model();
  test::TrainStep two(second, "classification", optimizer, types_of(batch));
  for (std::size_t i = 0; i < two.state().size(); ++i) {
    two.state()[i].tensor.copy_from(one.state()[i].tensor);
  }
  one.run(batch, 0.01, 3);
  two.run(batch, 0.01, 3);
  for (std::size_t i = 0; i < two.state().size(); ++i) {
    EXPECT_TRUE(identical(one.state()[i].tensor, two.state()[i].tensor))
        << one.state()[i].name;
  }
}

TEST(TrainStep, RestoredStateContinuesBitForBit) {
  for (const OptimizerDef& def : optimizer_registry().all()) {
    SCOPED_TRACE(def.name);
    expect_to_continue(*make_optimizer(def.name, {}));
  }
  for (const OptimizerWrapperDef& def : optimizer_wrapper_registry().all()) {
    SCOPED_TRACE(def.name);
    expect_to_continue(*wrap_optimizer(make_optimizer("adam", {}), {def.name}));
  }
}

#if WEFT_COUNTS_ALLOCATIONS
TEST(TrainStep, SteadyStepAllocatesNothing) {
  auto model = small_model();
  const auto optimizer = make_optimizer("adam", {});
  const auto batch = batch_of(32);
  test::TrainStep step(model, "classification", *optimizer, types_of(batch));
  for (int t = 0; t < 3; ++t) step.run(batch, 0.01, t);
  const auto before = test::heap_use();
  for (int t = 3; t < 10; ++t) step.run(batch, 0.01, t);
  EXPECT_EQ(test::heap_use().own, before.own);
}
#endif

TEST(TrainStep, ChecksNumericsByOp) {
  auto model = small_model();
  const auto optimizer = make_optimizer("sgd", {});
  auto batch = batch_of(4);
  test::TrainStep step(model, "classification", *optimizer, types_of(batch),
                       {.check_numerics = true});
  step.run(batch, 0.1, 0);
  batch[0] = batch[0].clone();
  batch[0].data<float>()[5] = std::nanf("");
  try {
    step.run(batch, 0.1, 1);
    FAIL() << "NaN went unnoticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    EXPECT_NE(std::string(error.what()).find("conv2d"), std::string::npos)
        << error.what();
  }
}

TEST(EvalStep, SeesWhatTrainingDoesAndChangesNothing) {
  auto model = small_model();
  const auto optimizer = make_optimizer("momentum", {});
  const auto batch = batch_of(12);
  test::TrainStep step(model, "classification", *optimizer, types_of(batch));
  Step eval = step.cut(StepCut::kEvaluate);
  eval.run(batch);
  const double before = eval.loss();
  for (int t = 0; t < 60; ++t) step.run(batch, 0.1, t);
  const Tensor weight = step.state()[0].tensor.clone();
  eval.run(batch);
  EXPECT_LT(eval.loss(), before);
  EXPECT_TRUE(identical(weight, step.state()[0].tensor));
  EXPECT_TRUE(model.is_training());
}

TEST(PredictStep, GivesProbabilities) {
  auto model = small_model();
  const auto optimizer = make_optimizer("sgd", {});
  const auto batch = batch_of(2);
  const test::TrainStep training(model, "classification", *optimizer,
                                 types_of(batch));
  const Tensor p =
      training.cut(StepCut::kPredict).predict(std::vector{batch[0]}).at(0);
  ASSERT_EQ(p.shape(), (Shape{2, 3}));
  EXPECT_NEAR(p.item(0) + p.item(1) + p.item(2), 1, 1e-5);
}

TEST(LanguageModel, CarriesStateFromBatchToBatch) {
  const auto model =
      build_model(model_registry().get("lstm-lm"),
                  {.example = {5}, .classes = 11, .lanes = 4},
                  {{"hidden", std::int64_t{8}}, {"layers", std::int64_t{1}}});
  model->initialize(1);
  const auto optimizer = make_optimizer("sgd", {});
  const Tensor tokens = Tensor::zeros({DType::kI32, {4, 5}});
  const std::vector<Tensor> batch{tokens, tokens};
  test::TrainStep step(*model, "language-model", *optimizer,
                       {tokens.type(), tokens.type()}, {.clip_norm = 1});
  const Tensor carried =
      nn::find_parameter(*model, "lstm.0.h")->variable.tensor();
  step.run(batch, 0.1, 0);
  EXPECT_NE(carried.item(), 0);
  step.step().reset_carried();
  EXPECT_EQ(carried.item(), 0);
}

}  // namespace
}  // namespace weft::train_step_test
