// Servers whose workers go on without each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/training_runs.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/simulated_run.h"

namespace weft::free_server_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

class FreeServerTest : public ::testing::Test, public test::TrainingRuns {
 protected:
  FreeServerTest()
      : TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.5
[train]
epochs = 4
batch = 96
[sync]
topology = "4@1us,1GB/s"
bucket_bytes = 4096
[simulate]
network = "4@1us,1GB/s"
compute = "constant(1ms)"
)toml") {}
};

// Real workers, then.
constexpr const char* kNobody = "simulate.network=\"\"";
constexpr const char* kStragglers =
    "simulate.compute=stragglers(20%, 8, constant(1ms))";

// Who need not wait for stragglers is sooner done: a synchronous step takes
// eight times as long as soon as one of four workers is slow, which it is in
// 1 - 0.8^4 of all.
TEST_F(FreeServerTest, WorkersDoNotWaitForStragglers) {
  const TrainResult together =
      simulate("together", {kStragglers, "sync.policy=server"});
  const TrainResult ahead =
      simulate("ahead", {kStragglers, "sync.policy=stale_server(3)"});
  const TrainResult alone =
      simulate("alone", {kStragglers, "sync.policy=async_server"});
  EXPECT_LT(ahead.seconds, 0.8 * together.seconds);
  EXPECT_LE(alone.seconds, ahead.seconds);
  EXPECT_LT(alone.seconds, 0.7 * together.seconds);
  for (const TrainResult* result : {&together, &ahead, &alone}) {
    EXPECT_GT(result->test.get("accuracy"), 0.9);
  }
}

// With no slack, workers that are equally fast see what a server that waits for
// all would show them: each push of plain SGD is a part of the same step.
TEST_F(FreeServerTest, WithoutSlackItIsTheServer) {
  const TrainResult server = simulate("server", {"sync.policy=server"});
  const TrainResult stale = simulate("stale", {"sync.policy=stale_server(0)"});
  EXPECT_NEAR(stale.train_loss, server.train_loss, 1e-4);
  const SafetensorsFile left = last("server");
  const SafetensorsFile right = last("stale");
  for (const auto& entry : right.entries()) {
    // Each keeps something of its own beside the model.
    if (entry.name.starts_with("sync.")) continue;
    const Tensor a = left.read(entry.name);
    const Tensor b = right.read(entry);
    for (std::int64_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a.item(i), b.item(i), 1e-4) << entry.name;
    }
  }
}

TEST_F(FreeServerTest, AVirtualClockMakesItDeterministic) {
  for (const char* policy : {"stale_server(2)", "async_server"}) {
    const std::string name = policy;
    const std::vector<std::string> overrides{
        kStragglers, "sync.policy=" + name, "sync.codec=3lc",
        "optimizer.name=momentum", "optimizer.lr=0.05"};
    simulate("one" + name, overrides);
    simulate("two" + name, overrides);
    expect_same_bits("one" + name, "two" + name);
  }
}

// Real threads come in any order, and converge all the same; that copies are
// equal when they are saved is checked there.
TEST_F(FreeServerTest, TrainsOnThreads) {
  for (const char* policy : {"stale_server(1)", "async_server"}) {
    const TrainResult result = on_threads(
        4, fmt::format("threads-{}", policy),
        {fmt::format("sync.policy={}", policy), "train.checkpoint_every=5",
         "optimizer.lr=0.1", "train.epochs=6"});
    EXPECT_GT(result.test.get("accuracy"), 0.6) << policy;
  }
}

TEST_F(FreeServerTest, ResumesFromAnyPolicy) {
  simulate("run", {"sync.policy=async_server", "train.epochs=2",
                   "optimizer.name=momentum", "optimizer.lr=0.1"});
  const TrainResult resumed = simulate(
      "run",
      {"sync.policy=allreduce", "optimizer.name=momentum", "optimizer.lr=0.1"},
      /*is_resumed=*/true);
  EXPECT_GT(resumed.test.get("accuracy"), 0.9);
  EXPECT_EQ(resumed.epochs, 4);
}

// Adam divides by what its means lack of their own age: one that were taken for
// new would step ten times too far.
TEST_F(FreeServerTest, ResumesAtTheAgeOfItsOptimizer) {
  const std::vector<std::string> adam{"sync.policy=stale_server(1)",
                                      "optimizer.name=adam",
                                      "optimizer.lr=0.003"};
  auto part = adam;
  part.push_back("train.epochs=2");
  simulate("aged", part);
  const auto updates = [&] {
    const SafetensorsFile file = last("aged");
    double most = 0;
    for (const auto& entry : file.entries()) {
      if (!entry.name.starts_with("sync.updates.")) continue;
      most = std::max(most, file.read(entry).item(0));
    }
    return most;
  };
  // Four workers push in each of two times 15 steps.
  EXPECT_EQ(updates(), 2 * 15 * 4);
  const TrainResult whole = simulate("whole", adam);
  const TrainResult resumed = simulate("aged", adam, /*is_resumed=*/true);
  EXPECT_EQ(updates(), 4 * 15 * 4);
  EXPECT_NEAR(resumed.train_loss, whole.train_loss, 0.02);
}

TEST_F(FreeServerTest, OneThatFailsEndsAll) {
  EXPECT_THAT(
      message_of([&] {
        simulate("nan", {"sync.policy=stale_server(2)", "optimizer.lr=1e30"});
      }),
      ::testing::AnyOf(HasSubstr("the loss is"), HasSubstr("not finite")));
  std::string message;
  ThreadWorld world(4, {.death = {.rank = 2, .sends = 40}});
  message = message_of([&] {
    world.run([&](Transport& transport) {
      set_thread_count(1);
      TrainObserver quiet;
      Trainer(recipe("death", {"sync.policy=stale_server(1)", kNobody}),
              {.name = "test", .transport = &transport})
          .run(quiet);
    });
  });
  EXPECT_THAT(message, HasSubstr("rank 2"));
}

TEST_F(FreeServerTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](const std::vector<std::string>& overrides) {
    return message_of([&] { recipe("no", overrides); });
  };
  EXPECT_THAT(refusal({"sync.policy=stale_server(-1)"}),
              HasSubstr("'slack' = -1 must be in [0,"));
  EXPECT_THAT(refusal({"sync.policy=async_server", "sync.rule=median"}),
              HasSubstr("that does not have each contribution by itself"));
  EXPECT_THAT(refusal({"sync.policy=async_server", "sync.codec=auto"}),
              HasSubstr("name a codec"));
  EXPECT_THAT(refusal({"sync.policy=async_server", "sync.collective=ring"}),
              HasSubstr("that uses no collective"));
}

}  // namespace
}  // namespace weft::free_server_test
