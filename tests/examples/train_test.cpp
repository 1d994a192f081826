// The example's loop, and that a step by hand is the trainer's.
#include <gtest/gtest.h>

#include "examples/train/own_loop.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/nn/nn.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::train_test {
namespace {

class OwnLoop : public ::testing::Test {
 protected:
  Recipe recipe(std::vector<std::string> overrides = {}) const {
    overrides.push_back("log.folder=" + (folder_ / "run").string());
    return parse_recipe(
        "[model]\nname = 'digits-cnn'\n[data]\nname = 'digits'\n"
        "[optimizer]\nname = 'adam'\nlr = 0.003\n[train]\nepochs = 1\n",
        "test", overrides);
  }

  test::TemporaryFolder folder_;
};

TEST_F(OwnLoop, TheExampleTrains) {
  const std::string path = folder_ / "best.safetensors";
  EXPECT_GT(examples::train_until_it_stalls(recipe(), path), 0.9);
  // The checkpoint is one as any other.
  EXPECT_EQ(load_trained(path).recipe.model.name, "digits-cnn");
}

TEST_F(OwnLoop, TakesTheTrainersSteps) {
  TrainObserver quiet;
  const TrainResult whole = Trainer(recipe(), {.name = "run"}).run(quiet);
  RecipeStep step(recipe());
  for (std::int64_t i = 0; i < step.batches_per_epoch(); ++i) {
    step.train(step.next().tensors);
  }
  EXPECT_EQ(step.evaluate().get("accuracy"), whole.test.get("accuracy"));
  // In the middle, through a file.
  RecipeStep first(recipe());
  for (int i = 0; i < 5; ++i) first.train(first.next().tensors);
  first.save(folder_ / "five.safetensors");
  RecipeStep second(recipe({"train.seed=1"}));
  second.load(folder_ / "five.safetensors");
  EXPECT_EQ(second.steps_done(), 5);
  while (second.steps_done() < second.batches_per_epoch()) {
    second.train(second.next().tensors);
  }
  EXPECT_EQ(second.evaluate().loss(), whole.test.loss());
}

TEST_F(OwnLoop, RefusesWhatIsNotThere) {
  RecipeStep step(recipe());
  test::expect_error(ErrorCode::kInvalidArgument, {"no part 'valid'"},
                     [&] { step.evaluate(DataPart::kValid); });
  test::expect_error(ErrorCode::kUnavailable, {"none"},
                     [&] { step.load(folder_ / "none"); });
  test::expect_error(ErrorCode::kNumeric, {"after step"}, [&] {
    for (int i = 0; i < 10; ++i) step.train(step.next().tensors, 1e38);
  });
  RecipeStep other(recipe({"model.name=mlp"}));
  other.save(folder_ / "mlp.safetensors");
  test::expect_error(ErrorCode::kDataLoss, {"conv1.weight"},
                     [&] { step.load(folder_ / "mlp.safetensors"); });
}

// A model of the program's own stands in for the recipe's.
TEST_F(OwnLoop, TrainsAModelOfItsOwn) {
  auto model = std::make_shared<nn::Sequential>(
      nn::Sequential{nn::Flatten{}, nn::Linear{64, 10}});
  RecipeStep step(recipe(), {.model = model});
  EXPECT_EQ(&step.model(), model.get());
  const double before = step.evaluate().loss();
  for (int i = 0; i < 10; ++i) step.train(step.next().tensors);
  EXPECT_LT(step.evaluate().loss(), before);
  TrainObserver quiet;
  EXPECT_GT(Trainer(recipe(), {.name = "run", .given = {.model = model}})
                .run(quiet)
                .epochs,
            0);
}

}  // namespace
}  // namespace weft::train_test
