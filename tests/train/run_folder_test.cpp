// What the folder of a run tells when runs were stopped, gone on with, or begun
// anew in it.
#include <atomic>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/tensor_set.h"
#include "weft/nn/nn.h"
#include "weft/train/metrics_log.h"
#include "weft/train/run_record.h"
#include "weft/train/step/loaded_data.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::run_folder_test {
namespace {

namespace fs = std::filesystem;

// Does something behind a step, and asks the run to stop.
class AtStep : public TrainObserver {
 public:
  explicit AtStep(int step, std::function<void()> act = {})
      : left_(step), act_(std::move(act)) {}
  void on_step(const TrainProgress&) override {
    if (--left_ != 0) return;
    stop = !act_;
    if (act_) act_();
  }
  void on_note(const std::string& note) override { notes += note + "\n"; }

  std::atomic<bool> stop = false;
  std::string notes;

 private:
  int left_;
  std::function<void()> act_;
};

class RunFolder : public ::testing::Test {
 protected:
  // 12 steps an epoch.
  Recipe recipe(const std::string& run,
                std::vector<std::string> overrides = {}) const {
    overrides.push_back("log.folder=" + (folder_ / run).string());
    return parse_recipe(R"toml(
[model]
name = "mlp"
hidden = [8]
[data]
name = "digits"
[optimizer]
name = "adam"
lr = "linear(from=0.01)"
[train]
epochs = 2
batch = 128
)toml",
                        "test", overrides);
  }
  TrainResult train(const Recipe& recipe, bool is_resumed = false) const {
    TrainObserver quiet;
    return Trainer(recipe, {.name = "run", .is_resumed = is_resumed})
        .run(quiet);
  }
  // The run ends early, by an error.
  void begin(const Recipe& recipe, AtStep& observer) const {
    Trainer trainer(recipe, {.name = "run", .stop = &observer.stop});
    EXPECT_ANY_THROW(trainer.run(observer));
  }
  std::vector<EpochMetrics> epochs(const std::string& run) const {
    return read_metrics(folder_ / run);
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunFolder, AnEpochThatIsStillToBeMeasuredTellsItsRate) {
  train(recipe("whole"));
  AtStep stopper(11);
  begin(recipe("parts"), stopper);  // behind step 12
  train(recipe("parts"), /*is_resumed=*/true);
  const auto whole = epochs("whole");
  const auto parts = epochs("parts");
  ASSERT_EQ(parts.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parts[i].lr, whole[i].lr);
    EXPECT_EQ(parts[i].train.loss(), whole[i].train.loss());
  }
}

TEST_F(RunFolder, AnEpochThatIsSavedIsLogged) {
  // Something in the log's place, which ends the run where it would be written.
  AtStep blocker(3, [&] { folder_.write("run/metrics.jsonl/file", "x"); });
  begin(recipe("run"), blocker);
  fs::remove_all(folder_ / "run" / "metrics.jsonl");
  train(recipe("run"), /*is_resumed=*/true);
  const auto all = epochs("run");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].epoch, 1);
}

// A part of an epoch that was measured where the run ended keeps its line.
TEST_F(RunFolder, WhatComesBehindTheCheckpointIsLoggedAnew) {
  train(recipe("run", {"train.max_steps=15"}));
  class Failing : public TrainHook {
    void on_epoch(TrainLoop&) override {
      throw Error(ErrorCode::kInternal, "test", "the end");
    }
  };
  // The rest of the epoch is logged, and its checkpoint is lost.
  for (const char* file : {"last.safetensors", "best.safetensors"}) {
    fs::copy(folder_ / "run" / file, folder_ / file);
  }
  Trainer failing(recipe("run"), {.name = "run", .is_resumed = true});
  failing.add(std::make_unique<Failing>());
  TrainObserver quiet;
  EXPECT_ANY_THROW(failing.run(quiet));
  ASSERT_EQ(epochs("run").back().step, 24);
  for (const char* file : {"last.safetensors", "best.safetensors"}) {
    fs::copy(folder_ / file, folder_ / "run" / file,
             fs::copy_options::overwrite_existing);
  }
  train(recipe("run"), /*is_resumed=*/true);
  std::vector<std::int64_t> steps;
  for (const EpochMetrics& each : epochs("run")) steps.push_back(each.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{12, 15, 24}));
}

TEST_F(RunFolder, ANewRunForgetsTheOneBefore) {
  const TrainResult before = train(recipe("run"));
  EXPECT_TRUE(fs::exists(before.checkpoint));
  AtStep stopper(3);
  begin(recipe("run", {"train.seed=7"}), stopper);
  EXPECT_TRUE(epochs("run").empty());
  EXPECT_TRUE(fs::exists(folder_ / "run" / "last.safetensors"));
  // That of the other run is kept.
  EXPECT_EQ(load_trained(folder_ / "run" / "earlier").info.seed, 1u);
  EXPECT_NE(stopper.notes.find("run/earlier"), std::string::npos)
      << stopper.notes;
  test::expect_error(ErrorCode::kUnavailable,
                     {"no epoch of this run", "last.safetensors"},
                     [&] { load_trained(folder_ / "run"); });
}

// A run that is killed before its first checkpoint begins anew.
TEST_F(RunFolder, ANewRunDoesNotGoOnFromTheOneBefore) {
  train(recipe("run"));
  const Recipe other = recipe("run", {"train.seed=7"});
  // What is thrown at a step is not waited for: nothing is saved.
  AtStep killed(3, [] { throw Error(ErrorCode::kInternal, "test", "killed"); });
  begin(other, killed);
  AtStep observer(1 << 30);
  const TrainResult result =
      Trainer(other, {.name = "run", .is_resumed = true}).run(observer);
  EXPECT_EQ(result.steps, 24);
  EXPECT_NE(observer.notes.find("no checkpoint"), std::string::npos)
      << observer.notes;
  EXPECT_EQ(load_trained(folder_ / "run").info.seed, 7u);
  EXPECT_EQ(load_trained(folder_ / "run" / "earlier").info.seed, 1u);
}

TEST_F(RunFolder, MorePatienceGoesOn) {
  const std::vector<std::string> hopeless{
      "optimizer.lr=100", "optimizer.name=sgd", "train.epochs=12",
      "optimizer.clip_norm=1"};
  const auto with_patience = [&](int epochs) {
    auto all = hopeless;
    all.push_back(fmt::format("train.patience={}", epochs));
    return recipe("run", all);
  };
  const TrainResult first = train(with_patience(1));
  ASSERT_LT(first.epochs, 12);
  AtStep observer(1 << 30);
  const TrainResult same =
      Trainer(with_patience(1), {.name = "run", .is_resumed = true})
          .run(observer);
  EXPECT_EQ(same.epochs, first.epochs);
  EXPECT_NE(observer.notes.find("ended early"), std::string::npos)
      << observer.notes;
  EXPECT_EQ(train(with_patience(0), /*is_resumed=*/true).epochs, 12);
}

// Nothing is best, least of all what an earlier run has left.
TEST_F(RunFolder, HeldOutDataWithoutALossAreTold) {
  train(recipe("run"));
  const auto rows = [](float first) {
    const Tensor x = Tensor::zeros({DType::kF32, {40, 2}});
    x.data<float>()[0] = first;
    return tensor_set("rows",
                      {{"x", x}, {"y", Tensor::zeros({DType::kI32, {40}})}},
                      {"no", "yes"});
  };
  DatasetSplits splits;
  splits.train = rows(0);
  splits.test = rows(std::numeric_limits<float>::quiet_NaN());
  const Recipe given = recipe_of_objects(std::vector<std::string>{
      "train.epochs=2", "log.folder=" + (folder_ / "run").string()});
  Trainer trainer(given,
                  {.name = "run",
                   .given = {.model = build_model(
                                 model_registry().get("mlp"),
                                 {.example = {2}, .classes = 2},
                                 {{"hidden", std::vector<std::int64_t>{4}}}),
                             .data = loaded_data(splits, data_options(given)),
                             .optimizer = make_optimizer("adam", {})}});
  TrainObserver quiet;
  try {
    trainer.run(quiet);
    FAIL() << "a model was best without a loss";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    EXPECT_NE(error.message().find("held-out"), std::string::npos)
        << error.message();
  }
  EXPECT_EQ(read_record(folder_ / "run").outcome.state, RunState::kFailed);
}

}  // namespace
}  // namespace weft::run_folder_test
