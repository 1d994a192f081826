// Recipes whose batches are no rows of a file: stopped in the middle of an
// epoch and resumed, they end with the bits of a run that was not.
#include <atomic>
#include <functional>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

#include "weft/files/safetensors.h"
#include "weft/train/trainer.h"

namespace weft::resume_test {
namespace {

class StopAfter : public TrainObserver {
 public:
  StopAfter(std::atomic<bool>& stop, int steps) : stop_(stop), left_(steps) {}
  void on_step(const TrainProgress&) override {
    if (--left_ == 0) stop_ = true;
  }

 private:
  std::atomic<bool>& stop_;
  int left_;
};

class Resume : public ::testing::Test {
 protected:
  // The recipe of that name for a run of that name.
  void expect_same_bits(const std::string& name, int steps,
                        std::vector<std::string> overrides) {
    overrides.push_back("log.folder");
    expect_same_bits(steps, [&](const std::string& run) {
      overrides.back() = folder_of(run);
      return load_recipe(
          fmt::format("{}/recipes/{}.toml", WEFT_SOURCE_DIR, name), overrides);
    });
  }

  std::string folder_of(const std::string& run) const {
    return "log.folder=" + (folder_.path() / run).string();
  }

  // Stops a run behind so many steps, and expects what it is resumed to to be
  // what it had been.
  void expect_same_bits(
      int steps, const std::function<Recipe(const std::string& run)>& recipe) {
    const std::string name = "resumed";
    TrainObserver quiet;
    const TrainResult whole =
        Trainer(recipe("whole"), {.name = name}).run(quiet);
    ASSERT_GT(whole.steps, steps);
    std::atomic<bool> stop = false;
    StopAfter observer(stop, steps);
    EXPECT_THROW(
        Trainer(recipe("parts"), {.name = name, .stop = &stop}).run(observer),
        Error);
    const TrainResult parts =
        Trainer(recipe("parts"), {.name = name, .is_resumed = true}).run(quiet);
    EXPECT_EQ(parts.steps, whole.steps);
    for (const auto& [metric, value] : whole.test.all()) {
      EXPECT_EQ(parts.test.get(metric), value) << metric;
    }
    const SafetensorsFile a(folder_.path() / "whole" / "last.safetensors");
    const SafetensorsFile b(folder_.path() / "parts" / "last.safetensors");
    ASSERT_EQ(a.entries().size(), b.entries().size());
    for (const SafetensorsEntry& entry : a.entries()) {
      ASSERT_NE(b.find(entry.name), nullptr) << entry.name;
      EXPECT_TRUE(identical(a.read(entry), b.read(*b.find(entry.name))))
          << entry.name;
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(Resume, WrappersRememberWhatTheyDid) {
  expect_same_bits(
      "digits", 14,
      {"train.epochs=2", "train.batch=128",
       "optimizer.wrap=[\"lazy_rows\", \"project(ball(radius=3, axes=[0]))\", "
       "\"ema(0.9)\", \"accumulate(3)\", \"lookahead(2)\"]"});
}

TEST_F(Resume, CartPolePlaysTheSameEpisodes) {
  expect_same_bits("cart-pole", 4,
                   {"train.epochs=2", "train.batch=4", "data.batches=3",
                    "data.measured=4", "model.hidden=[8]"});
}

TEST_F(Resume, TranslationReadsTheSameSentences) {
  std::string source;
  std::string target;
  for (int i = 0; i < 24; ++i) {
    const std::string words = i % 3 == 0 ? "a b" : "c a b d";
    source += fmt::format("{} w{}\n", words, i % 5);
    target += fmt::format("v{} {}\n", i % 5, words);
  }
  for (const char* part : {"train", "test"}) {
    folder_.write(std::string(part) + ".source", source);
    folder_.write(std::string(part) + ".target", target);
  }
  expect_same_bits(
      "multi30k", 4,
      {"data.name=parallel-text", "data.folder=" + folder_.path().string(),
       "train.epochs=2", "train.batch=8", "model.width=8", "model.heads=2",
       "model.middle=16", "model.layers=1"});
}

// The stream begins again, and what was trained on is passed over.
TEST_F(Resume, AStreamGoesOnBehindWhatItGave) {
  std::string records = "size,kind\n";
  for (int i = 0; i < 210; ++i) {
    records += fmt::format("{},{}\n", i % 23, i % 3 == 0 ? "low" : "high");
  }
  const auto path = folder_.write("records.csv", records);
  expect_same_bits(7, [&](const std::string& run) {
    return parse_recipe(
        "[model]\nname = 'mlp'\nhidden = [4]\n"
        "[data]\nname = 'csv-stream'\nsource = 'stream'\nfirst = 50\n"
        "batches = 5\nskip = true\n[optimizer]\nname = 'adam'\n"
        "[train]\nepochs = 3\nbatch = 10\n",
        "test", std::vector{"data.folder=" + path.string(), folder_of(run)});
  });
}

TEST_F(Resume, WalksGoOnWhereTheyWere) {
  std::string edges;
  for (int i = 0; i < 12; ++i) {
    edges += fmt::format("{} {}\n{} {}\n", i, (i + 1) % 12, i, (i + 3) % 12);
  }
  folder_.write("cora.edges.txt", edges);
  expect_same_bits("cora-walks", 5,
                   {"data.folder=" + folder_.path().string(), "train.epochs=2",
                    "train.batch=100", "data.length=6", "model.width=4"});
}

}  // namespace
}  // namespace weft::resume_test
