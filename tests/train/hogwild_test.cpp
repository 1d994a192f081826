// Workers that add to one model without waiting for each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/idle_transport.h"
#include "tests/support/training_runs.h"

#include "weft/nn/nn.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::hogwild_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

class HogwildTest : public ::testing::Test, public test::TrainingRuns {
 protected:
  HogwildTest()
      : TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.3
[train]
epochs = 4
batch = 96
[sync]
policy = "hogwild"
[simulate]
network = "4@1us,1GB/s"
compute = "constant(1ms)"
)toml") {}
};

TEST_F(HogwildTest, LearnsOnThreadsByEveryVariant) {
  for (const char* variant : {"hogwild", "atomic", "striped", "locked"}) {
    const TrainResult result = on_threads(
        3, variant, {fmt::format("sync.policy=hogwild({})", variant)});
    EXPECT_GT(result.test.get("accuracy"), 0.85) << variant;
    EXPECT_EQ(result.steps, 60);
    // Totals travel, and nothing of the model does.
    EXPECT_LT(result.traffic->bytes_sent, 200) << variant;
  }
}

TEST_F(HogwildTest, OfOneThreadIsSgdToTheBit) {
  set_thread_count(1);
  TrainObserver quiet;
  Trainer(recipe("alone", {"simulate.network=\"\""}), {.name = "test"})
      .run(quiet);
  for (const char* variant : {"hogwild", "atomic", "striped", "locked"}) {
    on_threads(1, variant, {fmt::format("sync.policy=hogwild({})", variant)});
    expect_same_bits("alone", variant, /*with_sync=*/false);
  }
}

// Four workers take turns on the virtual clock: each computes with a model that
// lacks what others are computing, the same in every run.
TEST_F(HogwildTest, IsReproducibleWhereThreadsAreSimulated) {
  const TrainResult result = simulate("once");
  simulate("again");
  expect_same_bits("once", "again");
  EXPECT_GT(result.test.get("accuracy"), 0.85);
}

TEST_F(HogwildTest, ResumesFromACheckpoint) {
  simulate("whole", {"train.checkpoint_every=25"});
  const std::vector<std::string> half{"train.checkpoint_every=25",
                                      "train.max_steps=25"};
  simulate("part", half);
  simulate("part", {"train.checkpoint_every=25"}, /*is_resumed=*/true);
  // A part of a run meets where it ends, as it does for its checkpoint.
  expect_same_bits("whole", "part");
}

TEST_F(HogwildTest, SaysHowStaleStepsWere) {
  simulate("run", {"train.epochs=1"});
  std::ifstream file(recipe("run").log.folder + "/traffic.jsonl");
  std::string line;
  int steps = 0;
  double most = 0;
  while (std::getline(file, line)) {
    const auto at = line.find("\"staleness\": ");
    ASSERT_NE(at, std::string::npos) << line;
    most = std::max(most, std::stod(line.substr(at + 13)));
    ++steps;
  }
  EXPECT_EQ(steps, 15);
  // All four compute for equally long.
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 6);
}

TEST_F(HogwildTest, AnUpdateThatIsNoNumberEndsAllWorkers) {
  for (int ranks : {1, 3}) {
    const std::string message =
        message_of([&] { on_threads(ranks, "bad", {"optimizer.lr=1e30"}); });
    EXPECT_THAT(message, HasSubstr("no number"));
  }
}

TEST_F(HogwildTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](const std::vector<std::string>& overrides) {
    return message_of([&] { recipe("no", overrides); });
  };
  EXPECT_THAT(refusal({"sync.policy=hogwild(lockd)"}),
              HasSubstr("did you mean 'locked'?"));
  EXPECT_THAT(refusal({"sync.codec=bf16"}), HasSubstr("nothing travels"));
  EXPECT_THAT(refusal({"sync.sparsify=topk(0.1)"}),
              HasSubstr("nothing travels"));
  EXPECT_THAT(refusal({"sync.order=first_use"}), HasSubstr("nothing travels"));
  EXPECT_THAT(refusal({"sync.slices=true"}), HasSubstr("nothing travels"));
  EXPECT_THAT(refusal({"sync.servers=1"}), HasSubstr("no servers"));
  EXPECT_THAT(refusal({"sync.rule=median"}), HasSubstr("each contribution"));
  EXPECT_THAT(refusal({"sync.collective=ring"}), HasSubstr("no collective"));
  for (const char* optimizer : {"momentum", "adam", "lars"}) {
    EXPECT_THAT(refusal({fmt::format("optimizer.name={}", optimizer)}),
                HasSubstr("declines this optimizer, because it remembers"));
  }
}

// Processes have no memory in common; what this network stands for is one.
TEST(Hogwild, RefusesRanksOfOtherProcesses) {
  test::IdleTransport transport;
  WorkerGroup group(transport, 1);
  nn::Sequential model{nn::Linear{2, 2}};
  model.initialize(1);
  const auto task = make_task("classification");
  const StepDescription step(
      model, *task,
      {{"input", {DType::kF32, {1, 2}}}, {"label", {DType::kI32, {1}}}});
  SyncRecipe recipe;
  recipe.policy = "hogwild";
  const auto optimizer = make_optimizer("sgd", {});
  const std::string message =
      message_of([&] { SyncedWorker(step, *optimizer, recipe, group); });
  EXPECT_THAT(message, HasSubstr("declines transport 'idle'"));
  EXPECT_THAT(message, HasSubstr("--workers N"));
}

}  // namespace
}  // namespace weft::hogwild_test
