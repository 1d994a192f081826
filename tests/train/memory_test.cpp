// Recipes that bound the memory of a step.
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/train_step.h"
#include "tests/support/values.h"

#include "weft/base/cpu.h"
#include "weft/nn/model.h"
#include "weft/optim/optimizer.h"
#include "weft/train/assembly.h"
#include "weft/train/memory_forecast.h"
#include "weft/train/step/step.h"
#include "weft/train/trainer.h"

namespace weft::memory_test {
namespace {

// Dropout, statistics and gradients that are clipped, on the digits.
Recipe recipe(std::vector<std::string> overrides = {}) {
  return parse_recipe(R"toml(
[model]
name = "sequential"
layers = ["conv2d(8)", "batch-norm", "relu", "dropout(0.3)",
          "residual([conv2d, batch-norm, relu, conv2d])",
          "conv2d(8)", "batch-norm", "relu", "flatten", "linear"]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.05
clip_norm = 1.0
[train]
batch = 64
)toml",
                      "test", overrides);
}

// A few steps: the losses, and the state that they leave.
struct Steps {
  std::vector<double> losses;
  std::vector<NamedTensor> state;
  std::size_t arena_bytes = 0;
  bool is_recomputed = false;

  explicit Steps(const Recipe& recipe) {
    const Assembly assembly = assemble(recipe);
    assembly.model->initialize(1);
    const auto source = assembly.data->train(Shard());
    const StepDescription description(*assembly.model, *assembly.task,
                                      source->inputs(), step_options(recipe),
                                      assembly.optimizer.get());
    Step step(description, StepCut::kTrain);
    arena_bytes = step.plan().arena_bytes();
    is_recomputed = step.plan().recomputed() != nullptr;
    for (int i = 0; i < 4; ++i) {
      step.run(source->next().tensors, {.lr = 0.05, .number = i});
      losses.push_back(step.loss());
    }
    for (const NamedTensor& named : description.state()) {
      state.push_back({named.name, named.tensor.clone()});
    }
  }
};

TEST(Memory, KeepsEveryBitOfTraining) {
  const Steps whole(recipe());
  EXPECT_FALSE(whole.is_recomputed);
  const std::size_t limit = whole.arena_bytes * 7 / 10;
  const Steps bounded(recipe({fmt::format("train.memory={}", limit)}));
  EXPECT_TRUE(bounded.is_recomputed);
  EXPECT_LE(bounded.arena_bytes, limit);
  EXPECT_EQ(bounded.losses, whole.losses);
  ASSERT_EQ(bounded.state.size(), whole.state.size());
  for (std::size_t i = 0; i < whole.state.size(); ++i) {
    const Tensor& expected = whole.state[i].tensor;
    EXPECT_EQ(std::memcmp(bounded.state[i].tensor.raw(), expected.raw(),
                          expected.bytes()),
              0)
        << whole.state[i].name;
  }
}

// Steps of ResNet-20 in a half and a third of the memory. All take the whole
// batch at once: a plan with a limit has no chunks, whose sums round otherwise.
TEST(Memory, KeepsEveryBitOfResNet20) {
  const auto optimizer = make_optimizer("momentum", {});
  const Tensor labels = Tensor::zeros({DType::kI32, {4}});
  const std::vector<Tensor> batch{test::pattern({4, 32, 32, 3}), labels};
  std::size_t arena_bytes = 0;
  const auto losses = [&](std::optional<std::size_t> limit) {
    const auto model = build_model(model_registry().get("resnet20"),
                                   {.example = {32, 32, 3}, .classes = 10}, {});
    model->initialize(3);
    StepOptions options;
    options.memory_limit = limit;
    options.batch_norm = BatchNormForm::kMvf;
    test::TrainStep step(*model, "classification", *optimizer,
                         {batch[0].type(), labels.type()}, options);
    arena_bytes = step.step().plan().arena_bytes();
    std::vector<double> found;
    for (int i = 0; i < 3; ++i) {
      step.run(batch, 0.05, i);
      found.push_back(step.loss());
    }
    return found;
  };
  const std::vector<double> expected = losses(std::nullopt);
  const std::size_t whole = arena_bytes;
  for (const std::size_t part : {2, 3}) {
    EXPECT_EQ(losses(whole / part), expected);
    EXPECT_LE(arena_bytes, whole / part);
  }
}

TEST(Memory, IsWrittenWithItsUnit) {
  EXPECT_EQ(recipe({"train.memory=\"200MB\""}).train.memory, 200e6);
  EXPECT_EQ(step_options(recipe({"train.memory=\"64KB\""})).memory_limit,
            64000u);
  EXPECT_EQ(step_options(recipe()).memory_limit, std::nullopt);
  test::expect_error(ErrorCode::kInvalidArgument, {"memory", "200 parsecs"},
                     [] { recipe({"train.memory=\"200 parsecs\""}); });
}

TEST(Memory, SaysWhatWouldDo) {
  test::expect_error(ErrorCode::kExhausted,
                     {"10000 bytes", "the least that was reached"},
                     [] { Steps(recipe({"train.memory=\"10KB\""})); });
  const test::TemporaryFolder folder;
  test::expect_error(ErrorCode::kExhausted,
                     {"the least that was reached", "bytes or more"}, [&] {
                       TrainObserver quiet;
                       Trainer(recipe({"train.memory=\"10KB\"",
                                       "log.folder=" + folder.path().string()}),
                               {.name = "run"})
                           .run(quiet);
                     });
}

TEST(Memory, IsToldBeforeARun) {
  const MemoryForecast small = forecast_memory(recipe({"train.batch=32"}));
  const MemoryForecast large = forecast_memory(recipe({"train.batch=320"}));
  EXPECT_EQ(
      large.train_step,
      static_cast<double>(Steps(recipe({"train.batch=320"})).arena_bytes));
  EXPECT_EQ(small.parameters, large.parameters);
  EXPECT_GT(small.optimizer_state, 0);
  // Some kernels and chunks are those of larger batches alone.
  EXPECT_NEAR(large.train_step / small.train_step, 10, 4);
  EXPECT_NEAR(large.batches / small.batches, 10, 0.1);
}

// The last batch of the digits' epochs has 29 of 32 examples.
TEST(Memory, ShownGradientsAreThoseOfTheLastBatch) {
  const auto shown = [](std::int64_t steps) {
    return forecast_memory(recipe({"train.batch=32", "tensorboard.folder=board",
                                   fmt::format("train.max_steps={}", steps)}))
        .gradients;
  };
  EXPECT_EQ(shown(45), shown(0));
  EXPECT_GT(shown(3), shown(0));
}

// A run that chooses its best model by one part is measured on another one.
TEST(Memory, TestDataAreMeasuredBesideValidation) {
  const test::TemporaryFolder folder;
  const auto evaluation = [&](const std::string& part) {
    for (const char* language : {"source", "target"}) {
      folder.write(fmt::format("{}.{}", part, language), "a b c\nb c a\n");
    }
    return forecast_memory(
               parse_recipe("[model]\nname = 'seq2seq'\nwidth = 8\n"
                            "heads = 2\nlayers = 1\n"
                            "[data]\nname = 'parallel-text'\n"
                            "[optimizer]\nname = 'sgd'\n"
                            "[train]\nbatch = 2\n",
                            "test",
                            std::vector<std::string>{"data.folder=" +
                                                     folder.path().string()}))
        .evaluation;
  };
  EXPECT_ANY_THROW(evaluation("train"));  // nothing is there to measure on
  const double alone = evaluation("test");
  EXPECT_EQ(evaluation("valid"), 2 * alone);
}

TEST(Memory, WorkersThatShareAModelSendNothing) {
  const std::vector<std::string> sgd{"optimizer={name=\"sgd\", lr=0.05}"};
  const auto network = [&](const std::string& policy) {
    std::vector<std::string> overrides = sgd;
    overrides.push_back("sync.policy=" + policy);
    return forecast_memory(recipe(overrides), 4).network;
  };
  // Four copies of what was read and one model, and three copies of gradients.
  EXPECT_DOUBLE_EQ(network("hogwild") / network("allreduce"), 5.0 / 12);
}

TEST(Memory, ARunThatCannotFitIsRefusedWithABatchThatWould) {
  EXPECT_NO_THROW(require_memory(recipe(), 1e6));
  const auto free = static_cast<double>(free_memory_bytes());
  // What is free changes between the two calls, but not by a third.
  const std::string said = test::message_of(
      [&] { require_memory(recipe({"train.batch=640"}), 2 * free); });
  EXPECT_NE(said.find("a batch of 640 takes"), std::string::npos) << said;
  const std::string_view setting = "--set train.batch=";
  const std::size_t at = said.find(setting);
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_NEAR(std::stoi(said.substr(at + setting.size())), 320, 100);
  EXPECT_NE(test::message_of([&] {
              require_memory(recipe(), 1e3 * free);
            }).find("a smaller model"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::memory_test
