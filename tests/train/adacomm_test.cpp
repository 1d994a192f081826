// AdaComm: the rule by hand-computed values, and workers that follow it.
#include <cmath>
#include <fmt/ranges.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/training_runs.h"

#include "weft/nn/nn.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/sync/adaptive_period.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::adacomm_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr LossPoint kFirst{.loss = 2.3, .lr = 0.1};

std::int64_t basic(double loss, double lr = 0.1) {
  return next_period({.first = 20, .is_refined = false}, kFirst, {loss, lr}, 20)
      .value();
}

TEST(AdaptivePeriod, EqualsHandValues) {
  EXPECT_EQ(basic(2.3), 20);
  EXPECT_EQ(basic(1.2), 15);
  EXPECT_EQ(basic(0.6), 11);
  EXPECT_EQ(basic(0.3), 8);
  EXPECT_EQ(basic(0.1), 5);
  EXPECT_EQ(basic(0.02), 2);
  EXPECT_EQ(basic(1e-9), 1);
  // sqrt(10 * 0.3 / 2.3) * 20 = 22.8, and no period exceeds the first.
  EXPECT_EQ(basic(0.3, 0.01), 20);
  EXPECT_EQ(
      next_period({.first = 20, .is_refined = false, .follows_rate = false},
                  kFirst, {0.3, 0.01}, 20),
      8);
  // What cannot be lost does not count: (1.3 - 1) / (2.3 - 1) of 20^2.
  EXPECT_EQ(next_period({.first = 20, .is_refined = false, .least_loss = 1},
                        kFirst, {1.3, 0.1}, 20),
            10);
}

TEST(AdaptivePeriod, IsShortenedWhereTheLossStays) {
  std::vector<std::int64_t> periods{20};
  for (int i = 0; i < 6; ++i) {
    periods.push_back(
        next_period({.first = 20}, kFirst, kFirst, periods.back()).value());
  }
  EXPECT_THAT(periods, ::testing::ElementsAre(20, 10, 5, 3, 2, 1, 1));
}

TEST(AdaptivePeriod, NeverGrowsByTheRefinedRule) {
  const RandomStream random{.seed = 9, .stream = 1, .step = 0};
  std::int64_t last = 50;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto draw = [&](std::uint64_t at) {
      return 1e-3 +
             5 * static_cast<double>(uniform_from(random.word(2 * i + at)));
    };
    const auto next = next_period({.first = 50, .shrink = 0.9}, kFirst,
                                  {draw(0), draw(1)}, last);
    ASSERT_TRUE(next.has_value());
    EXPECT_GE(*next, 1);
    EXPECT_LE(*next, last);
    last = i % 20 == 19 ? 50 : *next;
  }
}

TEST(AdaptivePeriod, HoldsWhereLossesSayNothing) {
  const auto is_held = [](LossPoint first, LossPoint now) {
    return !next_period({.first = 20}, first, now, 20).has_value();
  };
  for (const double loss : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(is_held(kFirst, {loss, 0.1})) << loss;
    EXPECT_TRUE(is_held({loss, 0.1}, {1, 0.1})) << loss;
  }
  EXPECT_TRUE(is_held(kFirst, {1, 0}));
  EXPECT_FALSE(is_held(kFirst, {1, 0.1}));
}

class AdaCommTest : public ::testing::Test, public test::TrainingRuns {
 protected:
  AdaCommTest()
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
epochs = 4
batch = 96
drop_last = true
[sync]
topology = "3@1ms,1MB/s"
[simulate]
network = "3@1ms,1MB/s"
compute = "constant(1ms)"
)toml") {}

  // A figure of traffic.jsonl, step by step where it is told.
  std::vector<double> figures(const std::string& folder, const char* name) {
    std::ifstream file(recipe(folder).log.folder + "/traffic.jsonl");
    std::vector<double> result;
    for (std::string line; std::getline(file, line);) {
      const auto at = line.find(fmt::format("\"{}\": ", name));
      if (at == line.npos) continue;
      result.push_back(
          std::stod(line.substr(at + std::string_view(name).size() + 4)));
    }
    EXPECT_GT(result.size(), 3u) << name;
    return result;
  }
};

// With a period of 1 it is local SGD of that period, whatever the loss does.
TEST_F(AdaCommTest, OfOneStepIsLocalSgdOfOne) {
  simulate("local", {"sync.policy=local_sgd(1)"});
  simulate("one", {"sync.policy=adacomm(tau0=1, interval=3it)"});
  const SafetensorsFile local = last("local");
  const SafetensorsFile one = last("one");
  for (const auto& entry : local.entries()) {
    EXPECT_TRUE(identical(local.read(entry), one.read(entry.name)))
        << entry.name;
  }
}

// Fourteen steps of an epoch, and workers meet at the end of each.
TEST_F(AdaCommTest, MeetsTheMoreOftenTheLowerTheLoss) {
  const TrainResult result =
      simulate("run", {"sync.policy=adacomm(tau0=6, interval=14it)"});
  EXPECT_EQ(result.steps, 56);
  EXPECT_GT(result.test.get("accuracy"), 0.8);
  const std::vector<double> periods = figures("run", "period");
  const std::vector<double> due = figures("run", "due");
  const std::vector<double> bytes = figures("run", "bytes_sent");
  ASSERT_EQ(periods.size(), 56u);
  EXPECT_EQ(periods.front(), 6);
  EXPECT_EQ(periods.back(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(periods, std::greater<>()));
  EXPECT_EQ(due[13], 1);
  EXPECT_EQ(due[12], 0);
  // The first epoch: meetings after 6, 12 and 14 steps.
  std::vector<std::size_t> met;
  for (std::size_t i = 0; i < 14; ++i) {
    if (bytes[i] > 1000) met.push_back(i + 1);
  }
  EXPECT_THAT(met, ::testing::ElementsAre(6, 12, 14));
}

// An interval that ends within a period is over when workers meet.
TEST_F(AdaCommTest, FinishesItsPeriodFirst) {
  simulate("run",
           {"sync.policy=adacomm(tau0=6, interval=8it)", "train.epochs=1"});
  const std::vector<double> periods = figures("run", "period");
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(periods[i], 6) << i;
  EXPECT_LT(periods[11], 6);
}

// The virtual clock is the same for all and from run to run.
TEST_F(AdaCommTest, GoesByTheClock) {
  constexpr const char* kPolicy = "sync.policy=adacomm(tau0=6, interval=40ms)";
  simulate("one", {kPolicy});
  simulate("two", {kPolicy});
  expect_same_bits("one", "two");
  const std::vector<double> periods = figures("one", "period");
  EXPECT_EQ(periods[5], 6);
  EXPECT_EQ(periods.back(), 1);
}

TEST_F(AdaCommTest, MeasuresItsFirstPeriod) {
  // A meeting takes many times a step of 1 ms: 10 KB at 1 MB/s.
  simulate("slow", {"sync.policy=adacomm(tau0=auto, overhead=50%)"});
  const double slow = figures("slow", "period")[10];
  EXPECT_GT(slow, 20);
  simulate("fast", {"sync.policy=adacomm(tau0=auto, overhead=50%)",
                    "simulate.compute=constant(1s)"});
  EXPECT_EQ(figures("fast", "period")[10], 1);
}

TEST_F(AdaCommTest, ResumesToTheSameBits) {
  for (const char* rest : {"momentum=averaged", "momentum=kept",
                           "momentum=reset, block_momentum=0.3"}) {
    const std::string name = rest;
    const std::vector<std::string> all{
        fmt::format("sync.policy=adacomm(tau0=6, interval=9it, {})", rest),
        "train.checkpoint_every=10", "sync.sparsify=topk(0.2)"};
    simulate("whole" + name, all);
    auto part = all;
    // This is in the middle of a period and of an interval.
    part.push_back("train.max_steps=20");
    simulate("part" + name, part);
    simulate("part" + name, all, /*is_resumed=*/true);
    expect_same_bits("whole" + name, "part" + name);
  }
}

TEST_F(AdaCommTest, GoesOnFromOtherPolicies) {
  simulate("run", {"sync.policy=allreduce", "train.epochs=1"});
  const TrainResult result =
      simulate("run", {"sync.policy=adacomm(tau0=4, interval=14it)"},
               /*is_resumed=*/true);
  EXPECT_EQ(result.steps, 56);
  EXPECT_EQ(figures("run", "period").back(), 1);
}

TEST_F(AdaCommTest, TrainsTheSameBitsByThreads) {
  const std::vector<std::string> overrides{
      "sync.policy=adacomm(tau0=5, interval=10it, block_momentum=0.3)",
      "sync.codec=bf16"};
  simulate("simulated", overrides);
  on_threads(3, "threads", overrides);
  expect_same_bits("simulated", "threads");
}

TEST_F(AdaCommTest, TrainsByARule) {
  const TrainResult result = simulate(
      "median",
      {"sync.policy=adacomm(tau0=5, interval=10it)", "sync.rule=median"});
  EXPECT_GT(result.test.get("accuracy"), 0.8);
}

TEST_F(AdaCommTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](const char* options,
                           const char* also = "train.epochs=4") {
    return message_of([&] {
      recipe("no", {fmt::format("sync.policy=adacomm({})", options), also});
    });
  };
  EXPECT_THAT(refusal("tau0=-1"), HasSubstr("'tau0' = -1 must be"));
  EXPECT_THAT(refusal("tau0=often"), HasSubstr("must be an integer"));
  for (const char* interval : {"60", "0s", "-1it", "1.5it", "60m", "soon"}) {
    EXPECT_THAT(refusal(fmt::format("interval=\"{}\"", interval).c_str()),
                HasSubstr("is no time and no number of steps"))
        << interval;
  }
  EXPECT_THAT(refusal("gamma_c=1"), HasSubstr("'gamma_c' = 1 must be"));
  EXPECT_THAT(refusal("tau0=2", "sync.codec=auto"), HasSubstr("name a codec"));
  EXPECT_EQ(refusal("tau0=auto"), "nothing was thrown");
}

// What one worker, or several, make of the same batches.
struct Party {
  std::unique_ptr<nn::Sequential> model;
  std::unique_ptr<SyncedWorker> worker;
  std::vector<NamedTensor> parameters;
};

Batch batch_of(int rank, int step) {
  Batch batch;
  batch.size = 5;
  batch.whole_size = 10;
  const Tensor input = Tensor::empty({DType::kF32, {5, 8}});
  const Tensor label = Tensor::empty({DType::kI32, {5}});
  const RandomStream random{.seed = 5,
                            .stream = static_cast<std::uint32_t>(rank),
                            .step = static_cast<std::uint32_t>(step)};
  for (std::int64_t i = 0; i < input.size(); ++i) {
    input.data<float>()[i] =
        uniform_from(random.word(static_cast<std::uint64_t>(i))) - 0.5f;
  }
  for (std::int64_t i = 0; i < 5; ++i) {
    label.data<std::int32_t>()[i] = input.data<float>()[8 * i] > 0 ? 1 : 0;
  }
  batch.tensors = {input, label};
  return batch;
}

Party party(WorkerGroup& group, const Optimizer& optimizer,
            const std::string& policy, int ranks) {
  static const auto task = make_task("classification");
  Party result;
  result.model =
      std::make_unique<nn::Sequential>(nn::Sequential{nn::Linear{8, 2}});
  result.model->initialize(1);
  const StepDescription step(
      *result.model, *task,
      {{"input", {DType::kF32, {5, 8}}}, {"label", {DType::kI32, {5}}}});
  SyncRecipe recipe;
  recipe.policy = policy;
  recipe.topology = fmt::format("{}@1us,1GB/s", ranks);
  result.worker =
      std::make_unique<SyncedWorker>(step, optimizer, recipe, group);
  result.parameters = step.tensors(EntryRole::kParameter);
  return result;
}

// One worker meets nobody: any period is plain training, bit for bit.
TEST(AdaComm, OfOneWorkerIsPlainTraining) {
  const auto optimizer = make_optimizer("momentum", {});
  std::vector<Tensor> expected;
  for (const char* policy : {"allreduce", "adacomm(tau0=7, interval=4it)",
                             "local_sgd(3, momentum=kept)"}) {
    ThreadWorld(1).run([&](Transport& transport) {
      set_thread_count(1);
      WorkerGroup group(transport, 20);
      const Party own = party(group, *optimizer, policy, 1);
      for (int i = 0; i < 12; ++i) {
        Batch batch = batch_of(0, i);
        batch.whole_size = batch.size;
        own.worker->run(batch, {.number = i, .lr = 0.5, .must_meet = i == 11});
      }
      for (std::size_t p = 0; p < own.parameters.size(); ++p) {
        const Tensor& tensor = own.parameters[p].tensor;
        if (expected.size() <= p) expected.push_back(tensor.clone());
        EXPECT_TRUE(identical(tensor, expected[p])) << policy;
      }
    });
  }
}

// Copies that see the same batches are equal, and so is their mean.
TEST(AdaComm, TheMeanOfEqualCopiesIsEachOfThem) {
  const auto optimizer = make_optimizer("sgd", {});
  ThreadWorld(2).run([&](Transport& transport) {
    set_thread_count(1);
    WorkerGroup group(transport, 20);
    const Party own =
        party(group, *optimizer, "adacomm(tau0=3, interval=6it)", 2);
    const Tensor& weight = own.parameters[0].tensor;
    for (int i = 0; i < 9; ++i) {
      own.worker->run(batch_of(0, i),
                      {.number = i, .lr = 0.5, .must_meet = i == 8});
    }
    Party alone =
        party(group, *optimizer, "adacomm(tau0=100, interval=1000it)", 2);
    for (int i = 0; i < 9; ++i) {
      alone.worker->run(batch_of(0, i),
                        {.number = i, .lr = 0.5, .must_meet = i == 8});
    }
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      EXPECT_NEAR(weight.item(i), alone.parameters[0].tensor.item(i), 1e-6);
    }
  });
}

// Workers whose losses differ by much, one of which is all that a rule could
// go by: they decide by the sums, and so alike.
TEST(AdaComm, WorkersThatSeeOtherLossesDecideAlike) {
  const auto optimizer = make_optimizer("sgd", {});
  ThreadWorld(2).run([&](Transport& transport) {
    set_thread_count(1);
    WorkerGroup group(transport, 20);
    const Party own = party(group, *optimizer,
                            "adacomm(tau0=6, interval=2it, rule=basic)", 2);
    for (int i = 0; i < 40; ++i) {
      // The second worker's examples are so large that its loss is, too.
      Batch batch = batch_of(group.rank(), i);
      if (group.rank() == 1) {
        for (float& x : batch.tensors[0].span<float>()) x *= 30;
      }
      own.worker->run(batch, {.number = i, .lr = 0.01, .must_meet = i == 39});
    }
    EXPECT_EQ(group.others("periods",
                           fmt::format("{}", own.worker->traffic()->figures)),
              std::vector<int>());
  });
}

// Periods that differ all the same, as by memory that is damaged, are told and
// hang nobody.
TEST(AdaComm, TellsOfWorkersThatDisagree) {
  const auto optimizer = make_optimizer("sgd", {});
  const std::string message = message_of([&] {
    ThreadWorld(2).run([&](Transport& transport) {
      set_thread_count(1);
      WorkerGroup group(transport, 5);
      const Party own = party(
          group, *optimizer,
          transport.rank() == 0 ? "adacomm(tau0=2)" : "adacomm(tau0=3)", 2);
      for (int i = 0; i < 12; ++i) {
        own.worker->run(batch_of(group.rank(), i),
                        {.number = i, .lr = 0.1, .must_meet = false});
      }
    });
  });
  EXPECT_THAT(message, HasSubstr("totals of step"));
}

}  // namespace
}  // namespace weft::adacomm_test
