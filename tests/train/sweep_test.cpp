#include "weft/train/sweep/sweep.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/parallel.h"
#include "weft/train/sweep/run_sweep.h"

namespace weft::sweep_test {
namespace {

using ::testing::ElementsAre;

constexpr const char* kRecipe =
    "[model]\nname = 'mlp'\n[data]\nname = 'digits'\n"
    "[optimizer]\nname = 'adam'\n";

class SweepTest : public ::testing::Test {
 protected:
  std::vector<SweepRun> load(std::vector<std::string> overrides) const {
    overrides.push_back("log.folder=" + (folder_ / "runs").string());
    return load_sweep(folder_.write("small.toml", kRecipe), overrides);
  }

  test::TemporaryFolder folder_;
};

std::vector<std::string> names(const std::vector<SweepRun>& runs) {
  std::vector<std::string> all;
  for (const SweepRun& run : runs) all.push_back(run.name);
  return all;
}

TEST_F(SweepTest, OneValueEachIsOneRun) {
  const auto runs = load({"optimizer.lr=0.1", "train.epochs=3"});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].name, "");
  EXPECT_EQ(runs[0].folder().filename(), "");
  EXPECT_EQ(runs[0].recipe.train.epochs, 3);
}

TEST_F(SweepTest, SeveralValuesMakeTheProduct) {
  const auto runs =
      load({"optimizer.lr=0.1,1e-3", "train.epochs=3", "train.batch=64, 128"});
  EXPECT_THAT(names(runs), ElementsAre("optimizer.lr=0.1,train.batch=64",
                                       "optimizer.lr=0.1,train.batch=128",
                                       "optimizer.lr=1e-3,train.batch=64",
                                       "optimizer.lr=1e-3,train.batch=128"));
  EXPECT_EQ(runs[2].recipe.optimizer.lr.at(0, 1, 1), 1e-3);
  EXPECT_EQ(runs[2].recipe.train.batch, 64);
  EXPECT_EQ(runs[2].recipe.train.epochs, 3);
}

// What no file name should hold is replaced, and what would be the same then is
// told apart by a digest.
TEST_F(SweepTest, NamesAreFileNames) {
  const auto one = load({"sync.codec=3lc,\"qsgd(4, bucket=64)\""});
  const auto other = load({"sync.codec=qsgd(4, bucket=64),3lc"});
  EXPECT_EQ(one[0].name, "sync.codec=3lc");
  EXPECT_EQ(one[1].recipe, other[0].recipe);
  const std::string stem = "sync.codec=qsgd_4,_bucket=64_-";
  EXPECT_TRUE(other[0].name.starts_with(stem)) << other[0].name;
  EXPECT_NE(other[0].name, one[1].name);
  EXPECT_EQ(other[0].name,
            load({"sync.codec=bf16,qsgd(4, bucket=64)"})[1].name);

  const std::string longest(300, 'x');
  const auto runs = load({"data.folder=" + longest + "," + longest + "y"});
  EXPECT_LT(runs[0].name.size(), 255u);
  EXPECT_NE(runs[0].name, runs[1].name);
}

TEST_F(SweepTest, RefusesBeforeAnythingTrains) {
  const auto refuse = [&](std::vector<std::string> overrides,
                          std::initializer_list<std::string> parts) {
    test::expect_error(ErrorCode::kInvalidArgument, parts,
                       [&] { load(overrides); });
  };
  refuse({"optimiser.lr=0.1,0.2"}, {"did you mean 'optimizer'"});
  refuse({"train.batch=64,0"}, {"train.batch", "must be in [1", "batch=0"});
  refuse({"train.batch=64,64"}, {"given twice"});
  refuse({"train.batch=64,32", "train.batch=8"}, {"once more"});
  refuse({"train.batch=64,"}, {"due here"});
  refuse({"log.folder=a,b"}, {"one folder"});
  refuse({"train.batch"}, {"key=value"});
  // A value that has a comma of its own.
  refuse({"sync.topology=2@20us,1GB/s"}, {"quotation marks", "2@20us"});
  EXPECT_EQ(load({"sync.topology=\"2@20us,1GB/s\""}).size(), 1u);
  std::string many = "train.seed=0";
  for (int i = 1; i < 40; ++i) many += fmt::format(",{}", i);
  refuse({many, "train.batch" + many.substr(10).replace(1, 1, "99")},
         {"1000 runs"});
}

TEST(CoreShares, DivideTheMachine) {
  const auto shares = [](std::size_t runs, int cores, int threads,
                         int least = 1) {
    const CoreShares s = share_cores(runs, cores, threads, least);
    return std::pair(s.at_once, s.threads);
  };
  EXPECT_EQ(shares(8, 4, 0), std::pair(4, 1));
  EXPECT_EQ(shares(2, 4, 0), std::pair(2, 2));
  EXPECT_EQ(shares(2, 7, 0), std::pair(2, 3));
  EXPECT_EQ(shares(8, 4, 2), std::pair(2, 2));
  EXPECT_EQ(shares(8, 4, 3), std::pair(1, 3));
  EXPECT_EQ(shares(8, 4, 0, 2), std::pair(2, 2));
  EXPECT_EQ(shares(1, 1, 0), std::pair(1, 1));
  test::expect_error(ErrorCode::kInvalidArgument, {"--cores", "4 threads"},
                     [&] { shares(2, 3, 4); });
  test::expect_error(ErrorCode::kInvalidArgument, {"--cores"},
                     [&] { shares(2, 3, 0, 4); });
}

TrainResult reached(double accuracy) {
  TrainResult result;
  result.deciding = {.name = "accuracy", .is_higher_better = true};
  result.test.set("loss", 1 - accuracy);
  result.test.set("accuracy", accuracy);
  return result;
}

TEST_F(SweepTest, AFailureLeavesTheOthersAlone) {
  const auto runs = load({"train.batch=1,2,3,4"});
  SweepObserver quiet;
  const auto outcomes = run_sweep(
      runs, {.cores = {.at_once = 2, .threads = 3}},
      [&](const Recipe& recipe, TrainObserver&) {
        EXPECT_EQ(thread_count(), 3);
        EXPECT_EQ(recipe.log.folder,
                  folder_ / "runs" /
                      fmt::format("train.batch={}", recipe.train.batch));
        if (recipe.train.batch == 1) throw std::bad_alloc();
        if (recipe.train.batch == 3) {
          throw Error(ErrorCode::kNumeric, "train", "the loss is inf");
        }
        return reached(recipe.train.batch == 2 ? 0.5 : 0.75);
      },
      quiet);
  EXPECT_EQ(outcomes[0].state, RunState::kFailed);
  EXPECT_EQ(outcomes[1].state, RunState::kDone);
  EXPECT_EQ(outcomes[2].reason, "train: the loss is inf");
  EXPECT_THAT(best_first(outcomes), ElementsAre(3u, 1u, 0u, 2u));
}

TEST_F(SweepTest, BestDependsOnTheMetric) {
  std::vector<RunOutcome> outcomes(4);
  const double losses[] = {2, kNotMeasured, 1, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    outcomes[i].state = RunState::kDone;
    outcomes[i].deciding = {.name = "loss"};
    outcomes[i].test.set("loss", losses[i]);
  }
  EXPECT_THAT(best_first(outcomes), ElementsAre(2u, 0u, 3u, 1u));
}

TEST_F(SweepTest, BeginsNoMoreOnceStopped) {
  const auto runs = load({"train.batch=1,2,3"});
  SweepObserver quiet;
  std::atomic<bool> stop = false;
  const auto outcomes = run_sweep(
      runs, {.stop = &stop},
      [&](const Recipe& recipe, TrainObserver&) {
        if (recipe.train.batch == 1) return reached(0.5);
        stop = true;
        throw Error(ErrorCode::kCancelled, "train", "interrupted");
      },
      quiet);
  EXPECT_EQ(outcomes[0].state, RunState::kDone);
  EXPECT_EQ(outcomes[1].state, RunState::kInterrupted);
  EXPECT_EQ(outcomes[2].reason, "not begun");
}

}  // namespace
}  // namespace weft::sweep_test
