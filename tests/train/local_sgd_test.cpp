// Local SGD: copies that train alone and meet at their mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/training_runs.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/nn/nn.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/simulated_run.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::local_sgd_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr int kWorkers = 3;
constexpr std::int64_t kExamples = 5;  // of each worker

Batch batch_of(int rank, int step) {
  Batch batch;
  batch.size = kExamples;
  batch.whole_size = kExamples * kWorkers;
  const Tensor input = Tensor::empty({DType::kF32, {kExamples, 8}});
  const Tensor label = Tensor::empty({DType::kI32, {kExamples}});
  const RandomStream random{.seed = 5,
                            .stream = static_cast<std::uint32_t>(rank),
                            .step = static_cast<std::uint32_t>(step)};
  for (std::int64_t i = 0; i < input.size(); ++i) {
    input.data<float>()[i] =
        uniform_from(random.word(static_cast<std::uint64_t>(i))) - 0.5f;
  }
  for (std::int64_t i = 0; i < kExamples; ++i) {
    label.data<std::int32_t>()[i] = input.data<float>()[8 * i] > 0 ? 1 : 0;
  }
  batch.tensors = {input, label};
  return batch;
}

std::unique_ptr<nn::Sequential> line() {
  auto model =
      std::make_unique<nn::Sequential>(nn::Sequential{nn::Linear{8, 2}});
  model->initialize(1);
  return model;
}

StepDescription described(nn::Module& model, const Optimizer* optimizer) {
  static const auto task = make_task("classification");
  return {model,
          *task,
          {{"input", {DType::kF32, {kExamples, 8}}},
           {"label", {DType::kI32, {kExamples}}}},
          {},
          optimizer};
}

// What the algorithm of the paper makes, each worker a training of its own.
std::vector<Tensor> reference(const Optimizer& optimizer, int steps,
                              int period) {
  std::vector<std::unique_ptr<nn::Sequential>> models;
  std::vector<std::unique_ptr<Step>> trainings;
  std::vector<std::vector<NamedTensor>> parameters;
  std::vector<std::vector<NamedTensor>> slots;
  for (int rank = 0; rank < kWorkers; ++rank) {
    models.push_back(line());
    const StepDescription step = described(*models.back(), &optimizer);
    parameters.push_back(step.tensors(EntryRole::kParameter));
    slots.push_back(step.tensors(EntryRole::kSlot));
    trainings.push_back(std::make_unique<Step>(step, StepCut::kTrain));
  }
  const auto average = [](const std::vector<std::vector<NamedTensor>>& all) {
    for (std::size_t p = 0; p < all[0].size(); ++p) {
      for (std::int64_t i = 0; i < all[0][p].tensor.size(); ++i) {
        double sum = 0;
        for (const auto& own : all) {
          sum += static_cast<double>(own[p].tensor.data<float>()[i]);
        }
        for (const auto& own : all) {
          own[p].tensor.data<float>()[i] = static_cast<float>(sum / kWorkers);
        }
      }
    }
  };
  for (int step = 0; step < steps; ++step) {
    for (int rank = 0; rank < kWorkers; ++rank) {
      trainings[static_cast<std::size_t>(rank)]->run(
          batch_of(rank, step).tensors, {.lr = 0.5, .number = step});
    }
    if ((step + 1) % period != 0) continue;
    average(parameters);
    average(slots);
  }
  std::vector<Tensor> result;
  for (const NamedTensor& named : parameters[0]) {
    result.push_back(named.tensor.clone());
  }
  return result;
}

TEST(LocalSgd, IsTheMeanOfTrainingsThatAreAlone) {
  constexpr int kSteps = 12;
  constexpr int kPeriod = 4;
  const auto optimizer = make_optimizer("momentum", {});
  const std::vector<Tensor> expected = reference(*optimizer, kSteps, kPeriod);
  ThreadWorld(kWorkers).run([&](Transport& transport) {
    set_thread_count(1);
    WorkerGroup group(transport, 20);
    const auto model = line();
    SyncRecipe recipe;
    recipe.policy = "local_sgd(4)";
    recipe.topology = "3@1us,1GB/s";
    recipe.bucket_bytes = 16;  // a bucket for each parameter
    const StepDescription step = described(*model, nullptr);
    SyncedWorker worker(step, *optimizer, recipe, group);
    for (int i = 0; i < kSteps; ++i) {
      const WorkerTotals totals =
          worker.run(batch_of(group.rank(), i),
                     {.number = i, .lr = 0.5, .must_meet = false});
      // Totals are those of all steps since workers last met.
      EXPECT_EQ(totals.have_met, (i + 1) % kPeriod == 0);
      if (totals.have_met) {
        EXPECT_EQ(totals.sums.ratios()[0].count, kPeriod * 15);
      }
    }
    const auto parameters = step.tensors(EntryRole::kParameter);
    ASSERT_EQ(parameters.size(), expected.size());
    for (std::size_t p = 0; p < expected.size(); ++p) {
      for (std::int64_t i = 0; i < expected[p].size(); ++i) {
        EXPECT_NEAR(parameters[p].tensor.item(i), expected[p].item(i), 1e-5);
      }
    }
  });
}

class LocalSgdTest : public ::testing::Test, public test::TrainingRuns {
 protected:
  LocalSgdTest()
      : TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.05
[train]
epochs = 3
batch = 96
[sync]
topology = "3@1ms,1MB/s"
[simulate]
network = "3@1ms,1MB/s"
compute = "constant(1ms)"
)toml") {}
};

// Where workers meet in every step, the mean of copies is the copy that the
// mean of gradients makes.
TEST_F(LocalSgdTest, OfOneStepIsAllReduce) {
  simulate("allreduce", {"optimizer.name=sgd", "train.drop_last=true"});
  simulate("local", {"optimizer.name=sgd", "train.drop_last=true",
                     "sync.policy=local_sgd(1)"});
  const SafetensorsFile left = last("allreduce");
  const SafetensorsFile right = last("local");
  for (const auto& entry : left.entries()) {
    const Tensor a = left.read(entry);
    const Tensor b = right.read(entry.name);
    for (std::int64_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a.item(i), b.item(i), 1e-5) << entry.name;
    }
  }
}

TEST_F(LocalSgdTest, SendsAsMuchLessAsItMeetsLess) {
  const TrainResult often = simulate("often", {"sync.policy=local_sgd(1)"});
  const TrainResult seldom = simulate("seldom", {"sync.policy=local_sgd(5)"});
  EXPECT_EQ(often.steps, 45);  // 15 in an epoch
  // Some bytes are those of totals.
  EXPECT_NEAR(often.traffic->bytes_sent / seldom.traffic->bytes_sent, 5, 0.3);
  EXPECT_LT(seldom.seconds, often.seconds / 3);
  EXPECT_GT(seldom.test.get("accuracy"), 0.8);
}

TEST_F(LocalSgdTest, DoesWithMomentumWhatItIsTold) {
  const auto velocity = [&](const std::string& folder, const char* name) {
    return last(folder).read(name);
  };
  for (const char* momentum : {"averaged", "reset", "kept"}) {
    const TrainResult result = simulate(
        momentum, {fmt::format("sync.policy=local_sgd(5, {})", momentum)});
    EXPECT_GT(result.test.get("accuracy"), 0.5) << momentum;
  }
  const Tensor zero = Tensor::zeros({DType::kF32, {32}});
  constexpr const char* kBias = "optimizer.velocity.fc1.bias";
  EXPECT_TRUE(identical(velocity("reset", kBias), zero));
  EXPECT_FALSE(identical(velocity("averaged", kBias), zero));
  EXPECT_EQ(last("averaged").find("sync.1.optimizer.velocity.fc1.bias"),
            nullptr);
  // Each worker's own.
  EXPECT_FALSE(
      identical(velocity("kept", kBias),
                velocity("kept", "sync.1.optimizer.velocity.fc1.bias")));
}

TEST_F(LocalSgdTest, ResumesToTheSameBits) {
  for (const char* momentum :
       {"averaged", "reset", "kept", "reset, block_momentum=0.3"}) {
    const std::string policy =
        fmt::format("sync.policy=local_sgd(4, {})", momentum);
    const std::string name = momentum;
    const std::vector<std::string> codec{policy, "sync.sparsify=topk(0.2)",
                                         "train.checkpoint_every=7"};
    simulate("whole" + name, codec);
    auto part = codec;
    part.push_back("train.max_steps=21");
    simulate("part" + name, part);
    simulate("part" + name, codec, /*is_resumed=*/true);
    expect_same_bits("whole" + name, "part" + name);
  }
}

// With block momentum the first period moves the model as without, and later
// ones add what is kept of the moves before.
TEST_F(LocalSgdTest, BlocksKeepAShareOfTheLastMove) {
  const std::vector<std::string> plain{"optimizer.name=sgd", "train.epochs=1"};
  const auto weights = [&](const char* policy, const char* steps) {
    auto overrides = plain;
    overrides.insert(overrides.end(), {policy, steps});
    simulate("block", overrides);
    return last("block").read("fc2.weight");
  };
  constexpr const char* kPlain = "sync.policy=local_sgd(3)";
  constexpr const char* kBlock =
      "sync.policy=local_sgd(3, block_momentum=0.5, momentum=kept)";
  const Tensor start = weights(kPlain, "train.max_steps=3");
  EXPECT_TRUE(identical(weights(kBlock, "train.max_steps=3"), start));
  const Tensor without = weights(kPlain, "train.max_steps=6");
  EXPECT_EQ(last("block").find("sync.block_rate"), nullptr);
  EXPECT_FALSE(identical(weights(kBlock, "train.max_steps=6"), without));
  const Tensor velocity = last("block").read("sync.block.fc2.weight");
  const Tensor rate = last("block").read("sync.block_rate");
  EXPECT_FLOAT_EQ(static_cast<float>(rate.item()), 0.05f);
  EXPECT_FALSE(identical(velocity, Tensor::zeros(velocity.type())));
}

TEST_F(LocalSgdTest, TrainsTheSameBitsByThreads) {
  const std::vector<std::string> overrides{"sync.policy=local_sgd(4)",
                                           "sync.codec=bf16"};
  simulate("simulated", overrides);
  on_threads(3, "threads", overrides);
  expect_same_bits("simulated", "threads");
}

TEST_F(LocalSgdTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](std::vector<std::string> overrides) {
    overrides.push_back("sync.policy=local_sgd");
    return message_of([&] { recipe("no", overrides); });
  };
  EXPECT_THAT(message_of([&] { recipe("no", {"sync.policy=local_sgd(0)"}); }),
              HasSubstr("'period' = 0 must be in [1,"));
  EXPECT_THAT(
      message_of([&] { recipe("no", {"sync.policy=local_sgd(2, keep)"}); }),
      HasSubstr("did you mean 'kept'?"));
  EXPECT_THAT(refusal({"sync.sparsify=topk(0.1)", "sync.memory=updates"}),
              HasSubstr("declines memory 'updates'"));
  EXPECT_THAT(refusal({"sync.sparsify=topk(0.1)", "optimizer.name=sgd",
                       "sync.momentum_correction=0.9"}),
              HasSubstr("declines momentum_correction"));
  EXPECT_THAT(refusal({"sync.codec=auto"}), HasSubstr("name a codec"));
}

}  // namespace
}  // namespace weft::local_sgd_test
