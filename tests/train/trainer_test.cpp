#include "weft/train/trainer.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/trees.h"

#include "weft/base/file.h"
#include "weft/runtime/trace_file.h"
#include "weft/train/assembly.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/metrics_log.h"
#include "weft/train/run_record.h"
#include "weft/train/trained_model.h"

namespace weft::trainer_test {
namespace {

namespace fs = std::filesystem;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest()
      : root_(fs::temp_directory_path() /
              fmt::format("weft-trainer-{}-{}", getpid(),
                          ::testing::UnitTest::GetInstance()
                              ->current_test_info()
                              ->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~TrainerTest() override { fs::remove_all(root_); }

  // A short run on the digits: 12 steps an epoch, dropout and all.
  Recipe recipe(const std::string& folder,
                std::vector<std::string> overrides = {}) const {
    overrides.push_back("log.folder=" + (root_ / folder).string());
    return parse_recipe(R"(
[model]
name = "digits-cnn"
[data]
name = "digits"
[optimizer]
name = "adam"
lr = 0.003
[train]
epochs = 2
batch = 128
checkpoint_every = 5
)",
                        "test", overrides);
  }

  fs::path root_;
};

// Stops the run once `after` steps were made.
class StopAfter : public TrainObserver {
 public:
  StopAfter(std::atomic<bool>& stop, int after) : stop_(stop), after_(after) {}
  void on_step(const TrainProgress&) override {
    if (--after_ == 0) stop_ = true;
  }

 private:
  std::atomic<bool>& stop_;
  int after_;
};

std::vector<Tensor> tensors_of(const fs::path& path) {
  const SafetensorsFile file(path);
  std::vector<Tensor> tensors;
  for (const auto& entry : file.entries()) {
    tensors.push_back(file.read(entry));
  }
  return tensors;
}

// The first convolution keeps its bits, has no slots, and is in the checkpoint.
TEST_F(TrainerTest, FrozenParametersStayAsTheyAre) {
  const Recipe frozen =
      recipe("run", {"train.epochs=1",
                     "optimizer.groups=[{parameters = \"conv1.*\", frozen "
                     "= true}]"});
  const Assembly assembly = assemble(frozen);
  assembly.model->initialize(static_cast<std::uint64_t>(frozen.train.seed));
  TrainObserver quiet;
  Trainer(frozen, {.name = "run"}).run(quiet);
  const SafetensorsFile saved(root_ / "run" / "last.safetensors");
  int kept = 0;
  for (const auto& [name, parameter] : assembly.model->parameters()) {
    const SafetensorsEntry* entry = saved.find(name);
    ASSERT_NE(entry, nullptr) << name;
    const bool is_frozen = name.starts_with("conv1.");
    kept += is_frozen;
    EXPECT_EQ(identical(saved.read(*entry), parameter->variable.tensor()),
              is_frozen)
        << name;
    EXPECT_EQ(saved.find("optimizer.m." + name) == nullptr, is_frozen) << name;
  }
  EXPECT_EQ(kept, 2);

  try {
    const Trainer trainer(
        recipe("other", {"optimizer.groups=[{parameters = \"9.*\"}]"}), {});
    FAIL() << "a group of nothing was taken";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no parameter is called '9.*'"),
              std::string::npos)
        << error.message();
  }
}

TEST_F(TrainerTest, RecordsWhatItTrainedAndHowItEnded) {
  const Recipe whole = recipe("run");
  std::atomic<bool> stop = false;
  StopAfter stopper(stop, 14);
  Trainer stopped(whole, {.name = "short", .stop = &stop});
  EXPECT_THROW(stopped.run(stopper), Error);
  RunRecord record = read_record(root_ / "run");
  EXPECT_EQ(record.outcome.state, RunState::kInterrupted);
  EXPECT_NE(record.outcome.reason.find("step 15"), std::string::npos);
  EXPECT_EQ(record.outcome.epochs, 1);
  // What is in the folder trains the same once more.
  EXPECT_EQ(load_recipe(root_ / "run" / "recipe.toml"), whole);

  TrainObserver quiet;
  const TrainResult result =
      Trainer(whole, {.name = "short", .is_resumed = true}).run(quiet);
  record = read_record(root_ / "run");
  EXPECT_EQ(record.outcome.state, RunState::kDone);
  EXPECT_EQ(record.name, "short");
  EXPECT_EQ(record.task, "classification");
  EXPECT_EQ(record.outcome.deciding.name, "accuracy");
  EXPECT_EQ(record.outcome.test.get("accuracy"), result.test.get("accuracy"));
  EXPECT_GE(record.ended, record.started);

  Trainer wild(recipe("wild", {"optimizer.name=sgd", "optimizer.lr=1e30"}), {});
  EXPECT_THROW(wild.run(quiet), Error);
  record = read_record(root_ / "wild");
  EXPECT_EQ(record.outcome.state, RunState::kFailed);
  EXPECT_NE(record.outcome.reason.find("loss"), std::string::npos)
      << record.outcome.reason;
}

// What the loop did follows one another; kernels and the loader stand within.
TEST_F(TrainerTest, TracesWhereTheTimeGoes) {
  const fs::path file = root_ / "run" / "traces" / "trace.json";
  TrainObserver quiet;
  Trainer(recipe("run", {"train.epochs=2", "trace.file=traces/trace.json",
                         "trace.steps=15"}),
          {.name = "run"})
      .run(quiet);
  std::map<std::string, int> counts;
  std::map<std::string, int> categories;
  double end = 0;
  for (const ProfileEvent& event : read_trace(file)) {
    ++categories[event.kind->category];
    if (event.kind->category != "loop") continue;
    ++counts[event.kind->name];
    // Times are written with a tenth of a microsecond.
    EXPECT_GE(event.begin, end - 2e-7);
    EXPECT_GE(event.end, event.begin);
    end = event.end;
  }
  EXPECT_EQ(counts["compute"], 15);
  EXPECT_EQ(counts["wait for batch"], 15);
  EXPECT_EQ(counts["measure"], 2);
  EXPECT_EQ(counts["save and log"], 2);
  EXPECT_GE(categories["kernel"], 15);
  EXPECT_GE(categories["loader"], 15);
  EXPECT_GE(categories["memory"], 15);

  // A folder is no file.
  Trainer refused(recipe("run", {"trace.file=" + root_.string()}), {});
  EXPECT_THROW(refused.run(quiet), Error);
}

// A recursive network, whose graph branches and calls itself.
TEST_F(TrainerTest, ResumesATreeNetworkBitForBit) {
  const fs::path trees = root_ / "sst";
  fs::create_directories(trees);
  std::ofstream(trees / "train.txt") << test::tree_lines(60, 7, 1);
  std::ofstream(trees / "dev.txt") << test::tree_lines(20, 7, 2);
  std::ofstream(trees / "test.txt") << test::tree_lines(20, 7, 3);
  const auto recipe_in = [&](const std::string& folder) {
    const std::vector<std::string> overrides{
        "log.folder=" + (root_ / folder).string(),
        "data.folder=" + trees.string()};
    return parse_recipe(R"(
[model]
name = "tree-lstm"
hidden = 6
embedding = 6
dropout = 0.2
[data]
name = "sst"
[optimizer]
name = "adagrad"
lr = 0.1
[train]
epochs = 3
batch = 16
)",
                        "test", overrides);
  };
  TrainObserver quiet;
  const TrainResult whole =
      Trainer(recipe_in("whole"), {.name = "whole"}).run(quiet);
  EXPECT_EQ(whole.steps, 12);
  EXPECT_GT(whole.test.get("accuracy"), 0.2);
  std::atomic<bool> stop = false;
  StopAfter observer(stop, 6);
  EXPECT_THROW(Trainer(recipe_in("parts"), {.name = "parts", .stop = &stop})
                   .run(observer),
               Error);
  Trainer(recipe_in("parts"), {.name = "parts", .is_resumed = true}).run(quiet);
  const auto expected = tensors_of(root_ / "whole" / "last.safetensors");
  const auto actual = tensors_of(root_ / "parts" / "last.safetensors");
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(identical(actual[i], expected[i]));
  }
}

TEST_F(TrainerTest, ResumesBitForBitWhereverItStopped) {
  TrainObserver quiet;
  Trainer(recipe("whole"), {.name = "whole"}).run(quiet);
  const auto whole = tensors_of(root_ / "whole" / "last.safetensors");

  int interruptions = 0;
  for (bool is_done = false; !is_done; ++interruptions) {
    std::atomic<bool> stop = false;
    StopAfter observer(stop, 7);
    try {
      Trainer(recipe("parts"),
              {.name = "parts", .is_resumed = true, .stop = &stop})
          .run(observer);
      is_done = true;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
    }
  }
  EXPECT_GE(interruptions, 3);
  const auto parts = tensors_of(root_ / "parts" / "last.safetensors");
  ASSERT_EQ(parts.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(identical(parts[i], whole[i]));
  }
}

TEST_F(TrainerTest, ResumingAFinishedRunRepeatsItsResult) {
  TrainObserver quiet;
  const TrainResult first = Trainer(recipe("run"), {.name = "run"}).run(quiet);
  const TrainResult again =
      Trainer(recipe("run"), {.name = "run", .is_resumed = true}).run(quiet);
  EXPECT_EQ(again.steps, first.steps);
  EXPECT_EQ(again.test.get("accuracy"), first.test.get("accuracy"));
  EXPECT_EQ(again.train_loss, first.train_loss);
}

TEST_F(TrainerTest, StopsAtMaxSteps) {
  TrainObserver quiet;
  const TrainResult result =
      Trainer(recipe("run", {"train.max_steps=3"}), {.name = "run"}).run(quiet);
  EXPECT_EQ(result.steps, 3);
  EXPECT_TRUE(fs::exists(result.checkpoint));
}

// What progress bars count: the run that max_steps leaves, not all epochs.
TEST_F(TrainerTest, TellsWhatIsLeftOfTheRun) {
  struct Watching : TrainObserver {
    std::vector<TrainProgress> steps;
    void on_step(const TrainProgress& now) override { steps.push_back(now); }
  } seen;
  Trainer(recipe("run", {"train.max_steps=3", "train.epochs=7"}),
          {.name = "run"})
      .run(seen);
  ASSERT_EQ(seen.steps.size(), 3u);
  const std::int64_t batch = seen.steps[0].examples;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(seen.steps[i].epochs, 1);
    EXPECT_NEAR(static_cast<double>(seen.steps[i].examples_left),
                static_cast<double>(batch) * (2.0 - static_cast<double>(i)),
                static_cast<double>(batch) / 2);
  }
  EXPECT_EQ(seen.steps.back().examples_left, 0);
}

TEST_F(TrainerTest, NaNStopsTheRunAndKeepsTheCheckpoint) {
  TrainObserver quiet;
  Trainer(recipe("run"), {.name = "run"}).run(quiet);
  const auto before = tensors_of(root_ / "run" / "last.safetensors");
  try {
    Trainer(recipe("run", {"optimizer.lr=1e30", "train.epochs=3",
                           "train.checkpoint_every=0"}),
            {.name = "run", .is_resumed = true})
        .run(quiet);
    FAIL() << "a learning rate of 1e30 went well";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    const std::string text = error.what();
    EXPECT_NE(text.find("step"), std::string::npos) << text;
    EXPECT_NE(text.find("--check-numerics"), std::string::npos) << text;
    EXPECT_NE(text.find("last.safetensors"), std::string::npos) << text;
  }
  const auto after = tensors_of(root_ / "run" / "last.safetensors");
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(identical(before[i], after[i]));
  }
}

TEST_F(TrainerTest, CheckingNumericsNamesOpAndStep) {
  TrainObserver quiet;
  try {
    Trainer(recipe("run", {"optimizer.lr=1e30", "optimizer.name=sgd",
                           "train.check_numerics=true"}),
            {.name = "run"})
        .run(quiet);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    EXPECT_NE(std::string(error.what()).find("in: step"), std::string::npos)
        << error.what();
  }
}

TEST_F(TrainerTest, WritesMetricsAndACurve) {
  TrainObserver quiet;
  Trainer(recipe("run"), {.name = "run"}).run(quiet);
  std::ifstream lines(root_ / "run" / "metrics.jsonl");
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["epoch"], ++count);
    EXPECT_GT(json["test_accuracy"], 0.1);
  }
  EXPECT_EQ(count, 2);
  const std::string svg = read_text(root_ / "run" / "curve.svg");
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_NE(svg.find("polyline"), std::string::npos);
}

TEST_F(TrainerTest, CheckpointCarriesItsRecipe) {
  TrainObserver quiet;
  const TrainResult result = Trainer(recipe("run"), {.name = "run"}).run(quiet);
  TrainedModel trained = load_trained(result.checkpoint);
  EXPECT_EQ(trained.recipe.train.batch, 128);
  EXPECT_EQ(trained.model().parameter_count(), 38282);
  EXPECT_THROW(load_trained(root_ / "nothing.safetensors"), Error);
}

TEST_F(TrainerTest, RefusesAModelThatDoesNotSuitTheData) {
  EXPECT_THROW(Trainer(recipe("run", {"model.name=lstm-lm"}), {}), Error);
}

}  // namespace
}  // namespace weft::trainer_test
