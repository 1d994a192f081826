// Training on the virtual clock of a cluster that is not there.
#include <cmath>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include "tests/support/errors.h"
#include "tests/support/heap_use.h"
#include "tests/support/training_runs.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/tensor/allocator.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/simulate/compute_law.h"
#include "weft/train/simulate/failures.h"
#include "weft/train/simulated_run.h"

namespace weft::simulate_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

class SimulateTest : public ::testing::Test, public test::TrainingRuns {
 protected:
  SimulateTest()
      : TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.1
[train]
epochs = 2
batch = 128
[sync]
topology = "4@1ms,1MB/s"
bucket_bytes = 4096
[simulate]
network = "4@1ms,1MB/s"
)toml") {}
};

TEST_F(SimulateTest, TrainsTheBitsThatThreadsTrain) {
  for (const std::string policy : {"allreduce", "server"}) {
    for (const std::string codec : {"none", "bf16", "3lc", "qsgd(8)"}) {
      const std::vector<std::string> overrides{"sync.policy=" + policy,
                                               "sync.codec=" + codec};
      const std::string name = policy + codec;
      const TrainResult threads = on_threads(4, "t" + name, overrides);
      const TrainResult simulated = simulate("s" + name, overrides);
      EXPECT_EQ(simulated.workers, 4);
      EXPECT_EQ(simulated.train_loss, threads.train_loss) << name;
      expect_same_bits("t" + name, "s" + name);
    }
  }
}

TEST_F(SimulateTest, TakesTheSameTimeEachTime) {
  const std::vector<std::string> overrides{
      "simulate.compute=stragglers(0.2, 3, normal(5ms, 10%))",
      "simulate.loss=0.01"};
  const TrainResult first = simulate("first", overrides);
  const TrainResult second = simulate("second", overrides);
  EXPECT_EQ(first.seconds, second.seconds);
  expect_same_bits("first", "second");
  // Another seed draws other times, and other weights too.
  std::vector<std::string> other = overrides;
  other.push_back("train.seed=2");
  EXPECT_NE(simulate("other", other).seconds, first.seconds);
}

// Without overlap a step is what it computes and then sends: of f32[2410], the
// ring sends 2 * 3 / 4 of its bytes in 6 messages.
TEST_F(SimulateTest, AStepTakesWhatTheModelSays) {
  const std::vector<std::string> overrides{
      "simulate.compute=constant(20ms)", "sync.collective=ring",
      "sync.overlap=false", "sync.bucket_bytes=1000000"};
  const TrainResult result = simulate("ring", overrides);
  const double bytes = result.traffic->bytes_sent;
  EXPECT_GE(bytes, 2410 * 4 * 1.5);
  // The totals of a step travel beside the gradients, and not behind them.
  const double sending = 6 * 1e-3 + bytes * 1e-6;
  EXPECT_NEAR(result.traffic->seconds, 0.02 + sending, 2.1e-3);
  // Collectives charge for adding what has come, which is little.
  EXPECT_NEAR(result.simulated->computing_seconds,
              0.02 * static_cast<double>(result.steps), 1e-4);
  EXPECT_EQ(result.simulated->price, "");
}

TEST_F(SimulateTest, ASlowerProcessorIsThatMuchSlower) {
  const std::vector<std::string> once{"simulate.compute=measured"};
  const TrainResult result = simulate("once", once);
  EXPECT_THAT(result.simulated->price, HasSubstr("for 32 examples, measured"));
  EXPECT_GT(result.simulated->computing_seconds, 0);
  EXPECT_GE(result.seconds, result.simulated->computing_seconds);
}

#if WEFT_COUNTS_ALLOCATIONS
// What bounds how many workers there can be.
TEST_F(SimulateTest, AWorkerTakesItsModelAndLittleElse) {
  class Heap : public TrainObserver {
   public:
    void on_epoch(const TrainProgress&, const EpochMetrics&) override {
      const auto use = mallinfo2();
      // What earlier tensors left for later ones is nobody's.
      bytes = std::max(bytes, static_cast<double>(use.uordblks + use.hblkhd -
                                                  pooled_bytes()));
    }
    double bytes = 0;
  };
  for (const std::string policy : {"allreduce", "local_sgd"}) {
    const auto bytes_with = [&](int workers) {
      Heap heap;
      const std::string name = fmt::format("{}{}", policy, workers);
      const Recipe trained = recipe(
          name, {fmt::format("simulate.network=\"{}@1ms,1MB/s\"", workers),
                 "simulate.compute=constant(20ms)", "sync.topology=auto",
                 "sync.policy=" + policy, "model.hidden=[256]"});
      // A thread keeps small blocks for its later tensors, and this one as many
      // as other tests have left; a new one has none.
      std::async(std::launch::async, [&] {
        train_simulated(trained, {.name = "test"}, heap);
      }).get();
      return heap.bytes;
    };
    const double each = (bytes_with(96) - bytes_with(32)) / 64;
    // Parameters, gradients and velocities. Plans of its own would be
    // megabytes.
    constexpr double kModel = 3 * 4 * (64 * 256 + 256 + 256 * 10 + 10);
    EXPECT_GT(each, kModel) << policy;
    EXPECT_LT(each, kModel + 250'000) << policy;
  }
}
#endif

TEST_F(SimulateTest, ResumesWhereItWas) {
  const std::vector<std::string> whole{"simulate.compute=constant(20ms)",
                                       "train.epochs=4"};
  const TrainResult through = simulate("whole", whole);
  simulate("part", {"simulate.compute=constant(20ms)", "train.epochs=2"});
  const TrainResult resumed = simulate("part", whole, /*is_resumed=*/true);
  EXPECT_EQ(resumed.train_loss, through.train_loss);
  EXPECT_NEAR(resumed.seconds, through.seconds, 0.1);
  expect_same_bits("whole", "part");
}

TEST_F(SimulateTest, AFailureOfOneEndsAll) {
  EXPECT_THAT(message_of([&] { simulate("nan", {"optimizer.lr=1e30"}); }),
              HasSubstr("the loss is"));
}

TEST_F(SimulateTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](const std::string& override_text) {
    return message_of([&] { recipe("refused", {override_text}); });
  };
  EXPECT_THAT(refusal("simulate.compute=constant(-1ms)"),
              HasSubstr("'seconds' = \"-1ms\" must be above 0"));
  EXPECT_THAT(refusal("simulate.compute=normal(1e999)"), HasSubstr("no value"));
  EXPECT_THAT(refusal("simulate.compute=constant(5%)"),
              HasSubstr("option 'seconds' is \"5%\", but must be a number"));
  EXPECT_THAT(refusal("simulate.compute=normal(20ms, 2)"),
              HasSubstr("'deviation' = 2 must be in [0, 1]"));
  EXPECT_THAT(refusal("simulate.compute=stragler"),
              HasSubstr("did you mean 'stragglers'?"));
  EXPECT_THAT(refusal("simulate.network=auto"),
              HasSubstr("cannot be measured"));
  EXPECT_THAT(refusal("simulate.network=\"4@50us\""), HasSubstr("expected"));
  EXPECT_THAT(refusal("simulate.loss=1"), HasSubstr("must be in [0, 1)"));
  EXPECT_THAT(
      message_of([&] { simulate("other", {"sync.topology=\"3@1ms,1MB/s\""}); }),
      HasSubstr("declines 4 workers, because it has 3 ranks"));
  // One worker alone would train without a word, and without the cluster.
  EXPECT_THAT(message_of([&] {
                Trainer(recipe("alone", {"simulate.network=\"4@1ms,1MB/s\""}),
                        {.name = "test"});
              }),
              HasSubstr("a Trainer is one worker"));
  TrainObserver quiet;
  EXPECT_THAT(message_of([&] {
                train_simulated(
                    recipe("one", {"simulate.network=\"1@1ms,1MB/s\""}),
                    {.name = "test"}, quiet);
              }),
              HasSubstr("a network of one worker"));
}

// --- Laws ------------------------------------------------------------------

TEST(ComputeLaw, NormalTimesHaveTheirMeanAndDeviation) {
  const auto law = make_compute_law("normal(20ms, 30%)", 1);
  double sum = 0;
  double squares = 0;
  constexpr int kSteps = 20'000;
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = law->seconds({.rank = i % 7, .number = i});
    EXPECT_GT(seconds, 0);
    sum += seconds;
    squares += seconds * seconds;
  }
  const double mean = sum / kSteps;
  EXPECT_NEAR(mean, 0.02, 2e-4);
  EXPECT_NEAR(std::sqrt(squares / kSteps - mean * mean), 0.006, 2e-4);
}

double mean_of(const std::string& text,
               const std::function<double(double)>& of) {
  const auto law = make_compute_law(text, 1);
  constexpr int kSteps = 40'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    sum += of(law->seconds({.rank = i % 7, .number = i / 7}));
  }
  return sum / kSteps;
}

TEST(ComputeLaw, ExponentialTimesLieAboveTheLeast) {
  const std::string law = "exponential(20ms, least=5ms)";
  EXPECT_NEAR(mean_of(law, [](double x) { return x; }), 0.025, 4e-4);
  EXPECT_EQ(mean_of(law, [](double x) { return x < 0.005; }), 0);
  // Half of them lie above the median.
  EXPECT_NEAR(
      mean_of(law, [](double x) { return x > 0.005 + 0.02 * std::log(2); }),
      0.5, 0.01);
}

TEST(ComputeLaw, ParetoTimesHaveAHeavyTail) {
  const std::string law = "pareto(10ms, shape=3)";
  EXPECT_NEAR(mean_of(law, [](double x) { return x; }), 0.015, 3e-4);
  EXPECT_EQ(mean_of(law, [](double x) { return x < 0.01; }), 0);
  EXPECT_NEAR(mean_of(law, [](double x) { return x > 0.02; }), 0.125, 0.006);
}

TEST(ComputeLaw, TimesDependOnStepRankAndSeedAlone) {
  const auto law = make_compute_law("normal(20ms, 30%)", 1);
  const LawStep step{.rank = 3, .number = 5};
  EXPECT_EQ(law->seconds(step), law->seconds(step));
  EXPECT_NE(law->seconds(step), law->seconds({.rank = 4, .number = 5}));
  EXPECT_NE(law->seconds(step), law->seconds({.rank = 3, .number = 6}));
  EXPECT_NE(law->seconds(step),
            make_compute_law("normal(20ms, 30%)", 2)->seconds(step));
}

TEST(ComputeLaw, StragglersAreAsManyAndAsSlowAsTheySay) {
  const auto law = make_compute_law("stragglers(0.25, 4, constant(10ms))", 1);
  int slow = 0;
  constexpr int kSteps = 10'000;
  for (int i = 0; i < kSteps; ++i) {
    const double seconds = law->seconds({.rank = i % 5, .number = i / 5});
    EXPECT_TRUE(seconds == 0.01 || seconds == 0.04) << seconds;
    slow += seconds > 0.02 ? 1 : 0;
  }
  EXPECT_NEAR(slow, 2500, 4 * std::sqrt(kSteps * 0.25 * 0.75));
}

TEST(ComputeLaw, MeasuredTimesAreScaled) {
  const LawStep step{.rank = 0, .number = 0, .measured = 0.1};
  EXPECT_EQ(make_compute_law("measured", 1)->seconds(step), 0.1);
  EXPECT_EQ(make_compute_law("measured(2)", 1)->seconds(step), 0.2);
  EXPECT_TRUE(make_compute_law("stragglers", 1)->is_measured());
  EXPECT_FALSE(make_compute_law("constant", 1)->is_measured());
}

// A rank that is lost ends the run, which is gone on with.
TEST_F(SimulateTest, ARankIsLostWhenItIsToBe) {
  const std::vector<std::string> usual{"simulate.compute=constant(20ms)"};
  std::vector<std::string> lost = usual;
  // After the first epoch, of 0.2 s or more.
  lost.push_back("simulate.failures=2@0.5s");
  lost.push_back("train.epochs=6");
  const std::string message = message_of([&] { simulate("lost", lost); });
  EXPECT_THAT(message, HasSubstr("rank 2"));
  EXPECT_THAT(message, HasSubstr("is lost at 0.5 s"));
  EXPECT_EQ(simulate("lost", usual, true).epochs, 2);
  for (const auto& [text, why] :
       std::map<std::string, std::string>{{"4@1s", "ranks 0 to 3"},
                                          {"1", "no rank and moment"},
                                          {"x@1s", "no rank and moment"},
                                          {"1@", "no moment"},
                                          {"1@-1s", "no moment"},
                                          {"1@1s,1@2s", "lost already"}}) {
    EXPECT_THAT(message_of([&] { parse_failures(text, 4); }), HasSubstr(why))
        << text;
  }
}

}  // namespace
}  // namespace weft::simulate_test
