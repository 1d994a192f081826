// Gradients that several workers show are those of the whole batch.
#include <gtest/gtest.h>

#include "tests/support/worker_runs.h"

#include "weft/train/train_loop.h"

namespace weft::shown_gradients_test {
namespace {

// Keeps what each epoch shows.
class Looking : public TrainHook {
 public:
  explicit Looking(std::vector<std::vector<NamedTensor>>& seen) : seen_(seen) {}

  void on_batch(TrainLoop& loop) override {
    if (!loop.is_last_of_epoch()) return;
    std::vector<NamedTensor> copies;
    for (const auto& [name, tensor] : loop.gradients()) {
      copies.push_back({name, tensor.clone()});
    }
    seen_.push_back(std::move(copies));
  }

 private:
  std::vector<std::vector<NamedTensor>>& seen_;
};

class ShownGradientsTest : public test::WorkerRuns {
 protected:
  // What each rank sees, by epoch.
  using Seen = std::vector<std::vector<std::vector<NamedTensor>>>;

  Seen look(const std::string& folder, int ranks,
            std::vector<std::string> overrides = {}) const {
    overrides.emplace_back("train.epochs=2");
    overrides.emplace_back(test::kNetwork);
    const Recipe run = recipe(folder, overrides);
    Seen seen(static_cast<std::size_t>(ranks));
    TrainObserver quiet;
    if (ranks == 1) {
      Trainer trainer(run, {.name = "test"});
      trainer.add(std::make_unique<Looking>(seen[0]));
      trainer.run(quiet);
      return seen;
    }
    ThreadWorld(ranks).run([&](Transport& transport) {
      set_thread_count(1);
      Trainer trainer(run, {.name = "test", .transport = &transport});
      trainer.add(std::make_unique<Looking>(
          seen[static_cast<std::size_t>(transport.rank())]));
      TrainObserver own;
      trainer.run(own);
    });
    return seen;
  }

  static void expect_same(const Seen& found, const Seen& expected) {
    ASSERT_EQ(found[0].size(), 2u);
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      const auto& gradients = found[0][epoch];
      ASSERT_EQ(gradients.size(), 4u);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        const NamedTensor& other = expected[0][epoch][i];
        EXPECT_EQ(gradients[i].name, other.name);
        double length = 0;
        for (std::int64_t k = 0; k < other.tensor.size(); ++k) {
          length += std::abs(other.tensor.item(k));
          EXPECT_NEAR(gradients[i].tensor.item(k), other.tensor.item(k), 1e-5)
              << other.name;
        }
        EXPECT_GT(length, 0) << other.name;
      }
      for (std::size_t rank = 1; rank < found.size(); ++rank) {
        EXPECT_TRUE(found[rank][epoch].empty());
      }
    }
  }
};

TEST_F(ShownGradientsTest, AreThoseOfOneWorker) {
  const Seen one = look("one", 1);
  expect_same(look("of3", 3), one);
  expect_same(look("server", 3, {"sync.policy=\"server\"", "sync.servers=1"}),
              one);
}

// Exchanges are under way then that the next forward pass would overtake.
TEST_F(ShownGradientsTest, AreOfParametersThatAreSettled) {
  expect_same(look("overtaken", 3, {"sync.overlap_forward=true"}),
              look("one", 1));
}

// They are clipped before they travel, and shown as they are.
TEST_F(ShownGradientsTest, AreNotClipped) {
  const std::vector<std::string> clipped{"optimizer.clip_norm=0.01"};
  const Seen one = look("one", 1, clipped);
  expect_same(look("of3", 3, clipped), one);
}

TEST_F(ShownGradientsTest, ChangeNoBit) {
  look("seen", 3);
  train(recipe("unseen", {"train.epochs=2", test::kNetwork}), 3);
  EXPECT_EQ(largest_difference("seen", "unseen"), 0);
}

}  // namespace
}  // namespace weft::shown_gradients_test
