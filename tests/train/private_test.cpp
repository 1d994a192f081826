// Differentially private training: what a step computes, what a run promises.
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/secret_keys.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/budget/budget_ledger.h"
#include "weft/data/poisson_order.h"
#include "weft/files/safetensors.h"
#include "weft/nn/linear.h"
#include "weft/nn/sequential.h"
#include "weft/train/private_run.h"
#include "weft/train/step/step.h"
#include "weft/train/trainer.h"

namespace weft::private_test {
namespace {

using test::expect_error;
using test::key_of;
using test::numbers;
using test::TemporaryFolder;

constexpr const char* kRecipe = R"(
[model]
name = "digits-cnn"
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.05
[train]
epochs = 2
batch = 100
max_steps = 12
[privacy]
noise = 1
)";

class PrivateRuns {
 public:
  Recipe recipe(const std::string& folder,
                std::vector<std::string> overrides = {}) const {
    overrides.push_back("log.folder=" + (root_.path() / folder).string());
    return parse_recipe(kRecipe, "test", overrides);
  }
  TrainResult run(const std::string& folder,
                  const std::vector<std::string>& overrides = {},
                  bool is_resumed = false) const {
    set_thread_count(1);
    TrainObserver quiet;
    return Trainer(recipe(folder, overrides),
                   {.name = "test", .is_resumed = is_resumed})
        .run(quiet);
  }
  std::filesystem::path path(const std::string& name) const {
    return root_.path() / name;
  }
  std::vector<double> weights(const std::string& folder) const {
    return numbers(
        SafetensorsFile(path(folder) / "last.safetensors").read("fc1.weight"));
  }

 private:
  TemporaryFolder root_;
};

// A key's file is put in place, so that two runs draw the same: as resuming
// does.
void give_key(const PrivateRuns& runs, const std::string& folder) {
  std::filesystem::create_directories(runs.path(folder));
  write_key(runs.path(folder) / "privacy.key", key_of(9));
}

TEST(PrivateRun, KeepsItsKeyUntilItEnds) {
  const PrivateRuns runs;
  runs.run("a");
  EXPECT_FALSE(std::filesystem::exists(runs.path("a") / "privacy.key"));
  // Another run draws another key.
  runs.run("b");
  EXPECT_NE(runs.weights("a"), runs.weights("b"));
  expect_error(ErrorCode::kUnavailable, {"privacy.key", "is gone"},
               [&] { runs.run("a", {}, /*is_resumed=*/true); });
}

// A run that was stopped and goes on does, to the last bit, what it would have.
// Trained to its end, and stopped before its result was found.
TEST(PrivateRun, KeepsItsKeyUntilItsResultIsKnown) {
  const PrivateRuns runs;
  const auto best = runs.path("a") / "best.safetensors";
  class Hiding : public TrainHook {
   public:
    explicit Hiding(std::filesystem::path file) : file_(std::move(file)) {}
    void on_epoch(TrainLoop&) override {
      std::filesystem::rename(file_, file_.string() + ".hidden");
    }

   private:
    std::filesystem::path file_;
  };
  Trainer trainer(runs.recipe("a", {"train.max_steps=2"}), {.name = "test"});
  trainer.add(std::make_unique<Hiding>(best));
  TrainObserver quiet;
  EXPECT_THROW(trainer.run(quiet), Error);
  std::filesystem::rename(best.string() + ".hidden", best);
  EXPECT_EQ(runs.run("a", {"train.max_steps=2"}, /*is_resumed=*/true).steps, 2);
  EXPECT_FALSE(std::filesystem::exists(runs.path("a") / "privacy.key"));
}

TEST(PrivateRun, ResumesToTheSameBits) {
  const PrivateRuns runs;
  give_key(runs, "through");
  give_key(runs, "stopped");
  const std::vector<std::string> fixed{"train.checkpoint_every=5"};
  runs.run("through", fixed, /*is_resumed=*/true);
  const std::atomic<bool> stop{true};
  TrainObserver quiet;
  EXPECT_THROW(Trainer(runs.recipe("stopped", fixed),
                       {.name = "test", .is_resumed = true, .stop = &stop})
                   .run(quiet),
               Error);
  EXPECT_TRUE(std::filesystem::exists(runs.path("stopped") / "privacy.key"));
  runs.run("stopped", fixed, /*is_resumed=*/true);
  EXPECT_EQ(runs.weights("through"), runs.weights("stopped"));
}

// What was done is done again under the same noise: by another recipe, or from
// other data, it would come out otherwise, and no promise would hold.
TEST(PrivateRun, GoesOnAsItBeganAlone) {
  const PrivateRuns runs;
  for (const char* part : {"train", "test"}) {
    std::ofstream table(runs.path(fmt::format("{}.csv", part)));
    table << "a,b,label\n";
    for (int i = 0; i < 40; ++i) {
      table << fmt::format("{},{},{}\n", i % 7, i % 5, i % 2);
    }
  }
  const std::vector<std::string> table{"model.name=mlp",
                                       "model.hidden=[4]",
                                       "data.name=csv",
                                       "data.label=label",
                                       "train.batch=10",
                                       "train.max_steps=6",
                                       "data.folder=" + runs.path("").string()};
  const auto stopped = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = table;
    overrides.insert(overrides.end(), more.begin(), more.end());
    const std::atomic<bool> stop{true};
    TrainObserver quiet;
    Trainer(runs.recipe("a", overrides),
            {.name = "test",
             .is_resumed = std::filesystem::exists(runs.path("a")),
             .stop = &stop})
        .run(quiet);
  };
  expect_error(ErrorCode::kCancelled, {}, [&] { stopped({}); });
  for (const std::string other :
       {"privacy.noise=4", "privacy.clip_norm=2", "train.batch=12",
        "train.max_steps=7", "optimizer.lr=0.1"}) {
    expect_error(
        ErrorCode::kInvalidArgument,
        {"--resume", other.substr(0, other.find('=')), "under the same noise"},
        [&] { stopped({other}); });
  }
  // What says only how long somebody waits, or what is told, decides nothing.
  expect_error(ErrorCode::kCancelled, {}, [&] {
    stopped({"privacy.wait=60", "sync.timeout=50", "tensorboard.every=7"});
  });
  // Before its first checkpoint a run has drawn its noise as well.
  const auto last = runs.path("a") / "last.safetensors";
  std::filesystem::rename(last, runs.path("kept"));
  expect_error(ErrorCode::kInvalidArgument, {"--resume", "privacy.noise"},
               [&] { stopped({"privacy.noise=4"}); });
  std::filesystem::rename(runs.path("kept"), last);
  std::ofstream(runs.path("train.csv"), std::ios::app) << "1,1,1\n";
  expect_error(ErrorCode::kInvalidArgument, {"--resume", "data"},
               [&] { stopped({}); });
}

// Batches in parts are the same batches.
TEST(PrivateRun, ComputesBatchesInParts) {
  const PrivateRuns runs;
  give_key(runs, "whole");
  give_key(runs, "parts");
  // Noise belongs to the last part, which has another number.
  runs.run("whole",
           {"privacy.noise=1e-9", "model.dropout=0", "train.max_steps=4"},
           /*is_resumed=*/true);
  runs.run("parts",
           {"privacy.noise=1e-9", "model.dropout=0", "privacy.rows=32",
            "train.max_steps=24"},
           /*is_resumed=*/true);
  const auto whole = runs.weights("whole");
  const auto parts = runs.weights("parts");
  ASSERT_EQ(whole.size(), parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(whole[i], parts[i], 1e-6);
  }
}

// Where nothing is clipped it is the sum of the gradients of who joined.
TEST(PrivateRun, AddsUpWhatJoined) {
  nn::Sequential model;
  model.add("fc", nn::Linear{3, 2});
  model.initialize(1);
  const auto task = make_task("classification");
  const PrivateStepOptions privacy{.clip_norm = 1e6};
  const std::vector<BatchInput> inputs{{"input", {DType::kF32, {5, 3}}},
                                       {"label", {DType::kI32, {5}}}};
  const auto optimizer = make_optimizer("sgd", {});
  const StepDescription description(model, *task, inputs, {.privacy = privacy},
                                    optimizer.get());
  const StepDescription plain(model, *task, inputs, {}, optimizer.get());
  Step private_step(description, StepCut::kGradients);
  Step plain_step(plain, StepCut::kGradients);
  const Tensor input = test::pattern({5, 3});
  const Tensor label = Tensor::of<std::int32_t>({5}, {0, 1, 1, 0, 1});
  private_step.run(std::vector{input, label}, {.present = 3});
  // Three examples of five; the mean over them, where privacy divides by the
  // four that were expected.
  plain_step.run(std::vector{input.slice(0, 3), label.slice(0, 3)});
  EXPECT_NEAR(private_step.loss(), plain_step.loss(), 1e-6);
  const auto found = numbers(private_step.results().back());
  const auto due = numbers(plain_step.results().back());
  ASSERT_EQ(found.size(), due.size());
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_NEAR(found[i], due[i] * 3, 1e-5);
  }
}

// No example moves the sum by more than the clip norm, however large it is.
TEST(PrivateRun, BoundsWhatAnExampleCanDo) {
  nn::Sequential model;
  model.add("fc", nn::Linear{3, 2});
  model.initialize(1);
  const auto task = make_task("classification");
  const auto optimizer = make_optimizer("sgd", {});
  constexpr double kClip = 0.25;
  const StepDescription description(
      model, *task,
      {{"input", {DType::kF32, {2, 3}}}, {"label", {DType::kI32, {2}}}},
      {.privacy = PrivateStepOptions{.clip_norm = kClip}}, optimizer.get());
  Step step(description, StepCut::kGradients);
  const Tensor label = Tensor::of<std::int32_t>({2}, {0, 1});
  const auto gradients_of = [&](double scale, std::int64_t present) {
    const Tensor input = Tensor::of<float>(
        {2, 3}, {0.1f, 0.2f, -0.1f, static_cast<float>(scale), 2, 3});
    step.run(std::vector{input, label}, {.present = present});
    std::vector<double> all;
    const auto& results = step.results();
    for (std::size_t i = results.size() - 2; i < results.size(); ++i) {
      for (const double each : numbers(results[i])) all.push_back(each);
    }
    return all;
  };
  for (const double scale : {1.0, 1e3, 1e6}) {
    const auto with = gradients_of(scale, 2);
    const auto without = gradients_of(scale, 1);
    double squares = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
      squares += (with[i] - without[i]) * (with[i] - without[i]);
    }
    EXPECT_NEAR(std::sqrt(squares), kClip, 1e-5) << scale;
  }
}

TEST(PrivateRun, FindsTheNoiseForAGuarantee) {
  const PrivateRuns runs;
  for (const char* accountant : {"rdp", "pld"}) {
    Recipe recipe =
        runs.recipe("a", {"privacy.noise=0", "privacy.epsilon=3",
                          "privacy.accountant=" + std::string(accountant)});
    PrivateRun run(recipe, nullptr, {}, false);
    Assembly assembly = assemble(recipe, 1, {}, run.sampling());
    run.fit(recipe, assembly);
    const double epsilon =
        privacy::epsilon_of(run.mechanisms(), recipe.privacy.delta,
                            privacy::accounting_of(accountant));
    EXPECT_LE(epsilon, 3);
    EXPECT_GE(epsilon, 2.97);
    EXPECT_NE(run.text().find("12 steps of 100"), std::string::npos)
        << run.text();
  }
}

TEST(PrivateRun, DeclinesWhatItCannotPromise) {
  const PrivateRuns runs;
  const auto declined = [&](std::initializer_list<std::string> parts,
                            const std::vector<std::string>& overrides) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { runs.run("a", overrides); });
  };
  declined({"privacy", "both epsilon and noise"}, {"privacy.epsilon=1"});
  declined({"privacy.ledger", "is not private"},
           {"privacy.noise=0", "privacy.ledger=books.db"});
  declined({"privacy", "drop_last"}, {"train.drop_last=true"});
  expect_error(ErrorCode::kInvalidArgument,
               {"privacy", "simulate.network", "--workers"}, [&] {
                 PrivateRun(runs.recipe("a", {"simulate.network=2@1us,1GB/s"}),
                            nullptr, {}, false);
               });
  declined({"privacy", "cannot be drawn"}, {"train.batch=5000"});
  declined({"privacy", "statistics of a batch", "group_norm"},
           {"model.name=resnet20", "data.name=digits"});
  // A size that is no size at all is refused as any other key is.
  declined({"privacy.clip_norm"}, {"privacy.clip_norm=0"});
}

// Training begins only with a grant, a run that is resumed has one, and the run
// that would spend too much is told how much there is.
TEST(PrivateRun, AsksTheLedger) {
  const PrivateRuns runs;
  const std::string books = runs.path("books.db").string();
  Ledger ledger = Ledger::open(books, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("digits", {.epsilon = 3, .delta = 1e-5});
  const std::vector<std::string> asking{"privacy.ledger=" + books,
                                        "privacy.noise=1.5"};
  int granted = 0;
  std::string refusal;
  for (int i = 0; i < 20 && refusal.empty(); ++i) {
    try {
      runs.run(fmt::format("run{}", i), asking);
      ++granted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kExhausted);
      refusal = error.what();
    }
  }
  EXPECT_GE(granted, 2);
  for (const char* part : {"no budget", "'digits'", "where 3 is promised"}) {
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal;
  }
  EXPECT_LE(
      BudgetBooks::consumed_epsilon(budgets.books().blocks().at("digits")), 3);
  // The refused run has read nothing: it has no checkpoint.
  EXPECT_FALSE(std::filesystem::exists(
      runs.path(fmt::format("run{}", granted)) / "last.safetensors"));
  expect_error(ErrorCode::kUnavailable, {"nowhere.db", "no ledger"}, [&] {
    runs.run("b", {"privacy.ledger=" + runs.path("nowhere.db").string()});
  });
}

}  // namespace
}  // namespace weft::private_test
