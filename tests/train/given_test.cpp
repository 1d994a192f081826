// What a program gives in place of what a recipe says: a model, data, an
// optimizer.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/data/tensor_set.h"
#include "weft/nn/nn.h"
#include "weft/train/recipe_step.h"
#include "weft/train/step/loaded_data.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::given_test {
namespace {

using test::expect_error;
using Texts = std::vector<std::string>;

class Given : public ::testing::Test {
 protected:
  static Recipe by_recipe(const Texts& overrides) {
    return parse_recipe(R"(
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "adam"
lr = 0.01
[train]
epochs = 2
)",
                        "test", overrides);
  }
  Recipe by_objects(const Texts& overrides = {}) const {
    Texts all{"train.epochs=2", "optimizer.lr=0.01",
              "log.folder=" + (folder_ / "objects").string()};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return recipe_of_objects(all);
  }
  // What the recipe above would make.
  static GivenObjects objects(const Recipe& recipe) {
    const DatasetSplits digits = open_data(DataRequest{.name = "digits"});
    return {.model = build_model(model_registry().get("mlp"),
                                 {.example = {8, 8, 1}, .classes = 10},
                                 {{"hidden", std::vector<std::int64_t>{16}}}),
            .data = loaded_data(digits, data_options(recipe)),
            .optimizer = make_optimizer("adam", {})};
  }
  TrainResult train(const Recipe& recipe, const GivenObjects& given,
                    bool is_resumed = false) const {
    TrainObserver quiet;
    return Trainer(recipe,
                   {.name = "run", .is_resumed = is_resumed, .given = given})
        .run(quiet);
  }

  test::TemporaryFolder folder_;
};

TEST_F(Given, ObjectsTrainAsTheirRecipe) {
  const TrainResult expected =
      train(by_recipe({"log.folder=" + (folder_ / "recipe").string()}), {});
  const Recipe recipe = by_objects();
  EXPECT_EQ(train(recipe, objects(recipe)).test.all(), expected.test.all());
  // So does a loop of one's own.
  RecipeStep step(recipe, objects(recipe));
  for (std::int64_t i = 0; i < 2 * step.batches_per_epoch(); ++i) {
    step.train(step.next().tensors);
  }
  EXPECT_EQ(step.evaluate().get("loss"), expected.test.get("loss"));
}

// A schedule ends where the run does.
TEST_F(Given, ALoopOfOnesOwnHasTheRatesOfTheRun) {
  const Recipe recipe =
      by_recipe({"train.max_steps=5", "optimizer.lr=linear(0.01)",
                 "log.folder=" + (folder_ / "run").string()});
  const TrainResult expected = train(recipe, {});
  RecipeStep step(recipe);
  for (int i = 0; i < 5; ++i) step.train(step.next().tensors);
  EXPECT_EQ(step.evaluate().get("loss"), expected.test.get("loss"));
}

TEST_F(Given, RunsGoOnWithTheObjectsAlone) {
  const Recipe recipe = by_objects();
  const TrainResult whole = train(recipe, objects(recipe));
  std::filesystem::remove_all(folder_ / "objects");
  Recipe half = recipe;
  half.train.max_steps = 5;
  train(half, objects(recipe));
  EXPECT_EQ(train(recipe, objects(recipe), true).test.all(), whole.test.all());
  // The recipe says that there were objects, and nothing can stand for them.
  EXPECT_EQ(parse_recipe(to_toml(recipe), "again"), recipe);
  expect_error(ErrorCode::kUnsupported,
               {"data 'object'", "a program gave", "export"},
               [&] { load_trained(folder_ / "objects"); });
  for (const char* missing : {"model", "data", "optimizer"}) {
    GivenObjects given = objects(recipe);
    if (missing == std::string("model")) given.model = nullptr;
    if (missing == std::string("data")) given.data = nullptr;
    if (missing == std::string("optimizer")) given.optimizer = nullptr;
    expect_error(ErrorCode::kUnsupported, {fmt::format("{} 'object'", missing)},
                 [&] { RecipeStep(recipe, given); });
  }
}

TEST_F(Given, AnOptimizerTakesNeitherWrappersNorGroupsOfTheRecipe) {
  const auto refused = [&](const std::string& override) {
    const Recipe recipe = by_recipe({override});
    expect_error(
        ErrorCode::kInvalidArgument, {"optimizer", "was given", "wrap"},
        [&] { RecipeStep(recipe, {.optimizer = make_optimizer("sgd", {})}); });
  };
  refused("optimizer.wrap=[\"ema\"]");
  refused("optimizer.groups=[{parameters=\"*.bias\", lr_scale=0.5}]");
  // What is frozen is no matter of the optimizer.
  const Recipe frozen =
      by_recipe({"optimizer.groups=[{parameters=\"fc1.*\", frozen=true}]"});
  RecipeStep step(frozen, {.optimizer = make_optimizer("sgd", {})});
  const Tensor before =
      nn::find_parameter(step.model(), "fc1.weight")->variable.tensor().clone();
  step.train(step.next().tensors);
  EXPECT_TRUE(identical(
      before,
      nn::find_parameter(step.model(), "fc1.weight")->variable.tensor()));
}

// Workers have no say in what an optimizer of a program's looks at.
TEST_F(Given, AnOptimizerIsHeldAgainstTheWorkers) {
  const Recipe recipe = by_objects({"sync.overlap_forward=true"});
  GivenObjects given = objects(recipe);
  EXPECT_NO_THROW(assemble(recipe, 1, given));
  given = objects(recipe);
  given.optimizer = make_optimizer("prodigy", {});
  expect_error(
      ErrorCode::kInvalidArgument,
      {"sync.overlap_forward", "in: sync.overlap_forward, command line, --set"},
      [&] { assemble(recipe, 1, given); });
}

TEST_F(Given, PartsMustBeAlike) {
  const auto set = [](Dim width, const std::string& name = "point") {
    return tensor_set("points",
                      {{name, Tensor::zeros({DType::kF32, {4, width}})},
                       {"label", Tensor::zeros({DType::kI32, {4}})}});
  };
  const DataOptions options = data_options(by_objects());
  EXPECT_NO_THROW(loaded_data({set(2), set(2), nullptr}, options));
  expect_error(ErrorCode::kInvalidArgument,
               {"test part", "training: point f32[2]", "test: point f32[3]"},
               [&] {
                 loaded_data({set(2), set(3), nullptr}, options);
               });
  // One of another name would be read in the place of this.
  expect_error(ErrorCode::kInvalidArgument,
               {"training: point f32[2]", "test: spot f32[2]"}, [&] {
                 loaded_data({set(2), set(2, "spot"), nullptr}, options);
               });
  expect_error(ErrorCode::kInvalidArgument, {"no part to measure on"}, [&] {
    loaded_data({set(2), nullptr, nullptr}, options);
  });
  expect_error(ErrorCode::kInvalidArgument, {"no part to train on"}, [&] {
    loaded_data({nullptr, set(2), nullptr}, options);
  });
}

TEST_F(Given, TensorsAreData) {
  const Tensor points = Tensor::zeros({DType::kF32, {40, 2}});
  const Tensor labels = Tensor::zeros({DType::kI32, {40}});
  for (int i = 0; i < 40; ++i) {
    labels.data<std::int32_t>()[i] = i % 2;
    points.data<float>()[2 * i] = static_cast<float>(i % 2 * 2 - 1);
  }
  const Recipe recipe =
      by_objects({"train.batch=8", "train.epochs=20", "optimizer.lr=0.1"});
  const TrainResult result = train(
      recipe,
      {.model = std::make_shared<nn::Linear>(2, 2),
       .data = loaded_data(hold_out_fifth(tensor_set(
                               "signs", {{"point", points}, {"sign", labels}})),
                           data_options(recipe)),
       .optimizer = make_optimizer("momentum", {})});
  EXPECT_EQ(result.test.get("accuracy"), 1);
}

}  // namespace
}  // namespace weft::given_test
