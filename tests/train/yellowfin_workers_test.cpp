// YellowFin with several workers: what is measured is measured of the gradient
// of all, wherever that is applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/training_runs.h"

namespace weft::yellowfin_workers_test {
namespace {

class YellowFinWorkers : public ::testing::Test, public test::TrainingRuns {
 protected:
  YellowFinWorkers()
      : TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "yellowfin"
[train]
epochs = 4
batch = 96
[sync]
topology = "4@1us,1GB/s"
bucket_bytes = 1024
[simulate]
network = "4@1us,1GB/s"
compute = "constant(1ms)"
)toml") {}
};

TEST_F(YellowFinWorkers, TrainTheSameBitsByThreads) {
  simulate("simulated", {"sync.codec=bf16"});
  on_threads(4, "threads", {"sync.codec=bf16"});
  expect_same_bits("simulated", "threads");
}

TEST_F(YellowFinWorkers, ResumeToTheSameBits) {
  for (const char* policy : {"allreduce", "server", "local_sgd(4)"}) {
    const std::string name = policy;
    const std::vector<std::string> all{"sync.policy=" + name,
                                       "train.checkpoint_every=10"};
    simulate("whole" + name, all);
    auto part = all;
    part.push_back("train.max_steps=20");
    simulate("part" + name, part);
    simulate("part" + name, all, /*is_resumed=*/true);
    expect_same_bits("whole" + name, "part" + name);
  }
}

// A server has all parameters in one bucket, and so measures all of them: its
// sums of gradients are those of an all-reduce, up to rounding.
TEST_F(YellowFinWorkers, MeasureTheSameInAServer) {
  simulate("allreduce", {"train.max_steps=10"});
  simulate("server", {"train.max_steps=10", "sync.policy=server"});
  for (const char* slot : {"momentum", "rate", "distance", "most"}) {
    const std::string name = fmt::format("optimizer.{}", slot);
    const double expected = last("allreduce").read(name).item();
    EXPECT_NEAR(last("server").read(name).item() / expected, 1, 1e-3) << name;
  }
}

// Each push of a worker's own mean is a step, and pushes are late by those of
// the others.
TEST_F(YellowFinWorkers, CloseTheLoopOnServersThatNobodyWaitsFor) {
  for (const char* policy : {"async_server", "stale_server(2)"}) {
    const TrainResult result =
        simulate(policy, {fmt::format("sync.policy={}", policy),
                          "optimizer.closed_loop=true", "train.epochs=15"});
    EXPECT_GT(result.test.get("accuracy"), 0.85) << policy;
    const SafetensorsFile file = last(policy);
    EXPECT_EQ(file.read("optimizer.measured").item(), 15 * 15 * 4);
    EXPECT_NEAR(file.read("optimizer.total_momentum").item(),
                file.read("optimizer.chosen_momentum").item(), 0.1)
        << policy;
  }
}

}  // namespace
}  // namespace weft::yellowfin_workers_test
