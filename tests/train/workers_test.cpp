// Several workers, as threads, against one.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

#include "tests/support/errors.h"
#include "tests/support/trees.h"
#include "tests/support/worker_runs.h"

namespace weft::workers_test {
namespace {

namespace fs = std::filesystem;
using test::kNetwork;
using ::testing::HasSubstr;

class WorkersTest : public test::WorkerRuns {};

TEST_F(WorkersTest, ComputeWhatOneComputes) {
  TrainObserver quiet;
  const TrainResult one = Trainer(recipe("one"), {.name = "test"}).run(quiet);
  for (const int workers : {1, 2, 3, 4}) {
    const std::string folder = fmt::format("of{}", workers);
    const TrainResult several = train(recipe(folder), workers);
    EXPECT_NEAR(several.train_loss, one.train_loss, 1e-5) << workers;
    EXPECT_EQ(several.test.get("accuracy"), one.test.get("accuracy"))
        << workers;
    EXPECT_LT(largest_difference("one", folder), 1e-5) << workers;
  }
}

// Pixels that are black in all images have no gradient, whoever computes it.
TEST_F(WorkersTest, LeaveTheRowsAloneThatOneLeaves) {
  const std::vector<std::string> overrides{"optimizer.weight_decay=0.1",
                                           "optimizer.wrap=[\"lazy_rows\"]"};
  TrainObserver quiet;
  Trainer(recipe("one", overrides), {.name = "test"}).run(quiet);
  train(recipe("of2", overrides), 2);
  EXPECT_LT(largest_difference("one", "of2"), 1e-5);
  const Tensor velocity = saved("of2").at("optimizer.velocity.fc1.weight");
  // The first pixel, and one in the middle.
  EXPECT_TRUE(
      identical(velocity.slice(0, 1), Tensor::zeros({DType::kF32, {1, 32}})));
  EXPECT_FALSE(
      identical(velocity.slice(28, 29), Tensor::zeros({DType::kF32, {1, 32}})));
}

// The mean is over words, of which some workers have more than others.
TEST_F(WorkersTest, TranslateAsOneDoes) {
  std::string source;
  std::string target;
  for (int i = 0; i < 30; ++i) {
    source += i % 2 == 0 ? "a b\n" : "c a b d c a b d\n";
    target += 'w';
    for (int word = 0; word < i * i % 17; ++word) {
      target += fmt::format(" w{}", word % 5);
    }
    target += '\n';
  }
  const fs::path folder = root_.path() / "sentences";
  fs::create_directories(folder);
  for (const char* part : {"train", "test"}) {
    std::ofstream(folder / (std::string(part) + ".source")) << source;
    std::ofstream(folder / (std::string(part) + ".target")) << target;
  }
  const auto recipe_of = [&](const std::string& run) {
    return parse_recipe(
        R"(
[model]
name = "seq2seq"
layers = 1
width = 8
heads = 2
middle = 16
dropout = 0
[task]
name = "sequence-to-sequence"
[data]
name = "parallel-text"
[optimizer]
name = "momentum"
lr = 0.1
[train]
epochs = 2
batch = 8
[sync]
timeout = 20
)",
        "test",
        std::vector{"data.folder=" + folder.string(),
                    "log.folder=" + (root_.path() / run).string()});
  };
  TrainObserver quiet;
  Trainer(recipe_of("one"), {.name = "test"}).run(quiet);
  for (const int workers : {2, 3}) {
    const std::string run = fmt::format("of{}", workers);
    train(recipe_of(run), workers);
    EXPECT_LT(largest_difference("one", run), 1e-5) << workers;
  }
}

// Trees differ in size, and a worker counts its trees, not their nodes.
TEST_F(WorkersTest, TrainTreeNetworksAsOneDoes) {
  const fs::path trees = root_.path() / "sst";
  fs::create_directories(trees);
  std::ofstream(trees / "train.txt") << test::tree_lines(40, 7, 1);
  std::ofstream(trees / "dev.txt") << test::tree_lines(20, 7, 2);
  std::ofstream(trees / "test.txt") << test::tree_lines(20, 7, 3);
  const std::vector<std::string> overrides{"model.name=tree-rnn",
                                           "model.hidden=6",
                                           "data.name=sst",
                                           "optimizer.lr=0.01",
                                           "train.batch=25",
                                           "train.epochs=2",
                                           "data.folder=" + trees.string()};
  TrainObserver quiet;
  Trainer(recipe("one", overrides), {.name = "test"}).run(quiet);
  train(recipe("of2", overrides), 2);
  EXPECT_LT(largest_difference("one", "of2"), 1e-5);
}

// traffic.jsonl, line by line.
TEST_F(WorkersTest, DensityXiAndDriftStandInTheTrafficLog) {
  for (const char* memory : {"gradients", "updates"}) {
    train(recipe(memory, {"train.epochs=1", "sync.sparsify=topk(0.05)",
                          "sync.measure_every=3", "sync.min_elements=0",
                          fmt::format("sync.memory={}", memory), kNetwork}),
          3);
    std::ifstream file(root_.path() / memory / "traffic.jsonl");
    int steps = 0;
    for (std::string line; std::getline(file, line);) {
      ++steps;
      const auto number = [&](const std::string& name) {
        const auto found = line.find("\"" + name + "\": ");
        return found == line.npos
                   ? -1
                   : std::stod(line.substr(found + name.size() + 4));
      };
      // Each of three picks a twentieth, largely others.
      EXPECT_GT(number("density"), 0.04) << line;
      EXPECT_LT(number("density"), 0.16) << line;
      EXPECT_EQ(number("xi") > 0, steps % 3 == 0) << line;
      EXPECT_EQ(number("drift") > 0, steps % 3 == 0) << line;
      EXPECT_LT(number("xi"), 5) << line;
    }
    EXPECT_EQ(steps, 12);
  }
}

// Two factors, so that neither is the ring of all.
TEST_F(WorkersTest, BlueConnectOfTwoByTwo) {
  const std::vector<std::string> overrides = {
      "sync.collective=blueconnect([2, 2])", "train.epochs=2"};
  train(recipe("blue", overrides), 4);
  train(recipe("ring", {"sync.collective=ring", "train.epochs=2"}), 4);
  const double difference = largest_difference("blue", "ring");
  EXPECT_LT(difference, 1e-5);
  EXPECT_GT(difference, 0);  // it adds in another order
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"declines 3 ranks, because the factors [2, 2]"},
                     [&] { train(recipe("run", overrides), 3); });
}

// One network for all, whatever is measured: workers that chose by their own
// measurements would disagree and never end.
TEST_F(WorkersTest, AutoIsTheSameForAll) {
  std::mutex mutex;
  std::vector<std::string> texts;
  class Noting : public TrainObserver {
   public:
    void on_start(const TrainSummary& summary) override { text = summary.sync; }
    std::string text;
  };
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    Noting observer;
    Trainer trainer(recipe("run", {"sync.codec=auto", "train.epochs=1"}),
                    {.name = "test", .transport = &transport});
    EXPECT_GT(trainer.run(observer).test.get("accuracy"), 0.2);
    const std::lock_guard lock(mutex);
    texts.push_back(observer.text);
  });
  const auto said = std::ranges::find_if(
      texts, [](const std::string& text) { return !text.empty(); });
  ASSERT_NE(said, texts.end());
  EXPECT_THAT(*said, HasSubstr("codec auto: "));
  EXPECT_THAT(*said, HasSubstr("pays below:"));
}

TEST_F(WorkersTest, AWorkerThatFailsEndsAllWithItsReason) {
  try {
    train(recipe("run", {"optimizer.name=sgd", "optimizer.lr=1e30"}), 3);
    FAIL() << "a learning rate of 1e30 went well";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric) << error.what();
  }
}

TEST_F(WorkersTest, TheNetworkMayBeInAFile) {
  const auto file = root_.write("network", "2@20us,1GB/s\n");
  const std::string key = "sync.topology=" + file.string();
  train(recipe("file", {key, "train.max_steps=5"}), 2);
  train(recipe("text", {"sync.topology=2@20us,1GB/s", "train.max_steps=5"}), 2);
  EXPECT_EQ(largest_difference("file", "text"), 0);
  EXPECT_EQ(recipe("text", {key}).sync.topology, "2@20us,1GB/s");
  try {
    train(recipe("run", {key}), 3);
    FAIL() << "three workers on a network of two";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("declines 3 workers, because it has 2 ranks"));
  }
}

}  // namespace
}  // namespace weft::workers_test
