// What is wrong with a recipe only in the light of its data and model is told
// before anything trains, with its place in the recipe.
#include "weft/train/assembly.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/train/sweep/run_sweep.h"

namespace weft::assembly_test {
namespace {

using test::expect_error;
using Parts = std::initializer_list<std::string>;

// Two matrices with biases: fc1 [64, 16] and fc2 [16, 10].
constexpr const char* kRecipe = R"([model]
name = "mlp"
hidden = [16]

[data]
name = "digits"

[optimizer]
name = "adam"
)";

void refuse(const std::string& more, Parts parts,
            const std::vector<std::string>& overrides = {}) {
  expect_error(ErrorCode::kInvalidArgument, parts, [&] {
    assemble(parse_recipe(kRecipe + more, "small.toml", overrides));
  });
}

TEST(Assembly, RefusesStepsOfWhatIsNoText) {
  refuse("[train]\nsteps = 12\n",
         {"train.steps", "running text, which 'digits' is not",
          "in: train.steps, small.toml:11", "train.max_steps"});
  // Older checkpoints have all keys.
  EXPECT_NO_THROW(assemble(parse_recipe(
      std::string(kRecipe) + "[train]\nsteps = 35\n", "small.toml")));
}

TEST(Assembly, NamesThePlaceOfAPatternOfGroups) {
  refuse(R"(
[[optimizer.groups]]
parameters = "*.bias"
frozen = true

[[optimizer.groups]]
parameters = "fc3.weight"
lr_scale = 0.1
)",
         {"optimizer.groups.1: no parameter is called 'fc3.weight'",
          "did you mean 'fc1.weight'?", "in: optimizer.groups.1, small.toml:15",
          "weft inspect"});
  refuse(R"(
[[optimizer.groups]]
parameters = "*.weight"
frozen = true
[[optimizer.groups]]
parameters = "fc1.*"
frozen = true
)",
         {"'*.weight' and 'fc1.*' are both for parameter 'fc1.weight'",
          "in: optimizer.groups.1, small.toml:14"});
  refuse(
      "",
      {"no parameter is called 'fc1.wait'", "parameters: fc1.weight, fc1.bias",
       "in: optimizer.groups.0, command line, --set optimizer.groups=[{"},
      {"optimizer.groups=[{parameters=\"fc1.wait\", frozen=true}]"});
  refuse("",
         {"all parameters are frozen", "in: optimizer.groups, command line"},
         {"optimizer.groups=[{parameters=\"*\", frozen=true}]"});
}

TEST(Assembly, NamesThePlaceOfAView) {
  refuse(R"toml(
[[model.views]]
parameters = "fc2.weight"
view = "low-rank(rank=11)"
)toml",
         {"'low-rank(rank=11)' declines parameter 'fc2.weight' (f32[16, 10])",
          "at most 10", "in: model.views.0, small.toml:11"});
  refuse("",
         {"no parameter is called 'fc2.wait'", "parameters: fc1.weight",
          "in: model.views.0, command line, --set model.views=[{"},
         {"model.views=[{parameters=\"fc2.wait\", view=\"ternary\"}]"});
  refuse("", {"none of its 10 elements would be kept", "at least 0.1"},
         {"model.views=[{parameters=\"fc2.bias\", "
          "view=\"masked(density=0.01)\"}]"});
}

TEST(Assembly, NamesThePlaceOfATaskThatDoesNotSuit) {
  refuse("\n[task]\nname = \"language-model\"\n",
         {"no running text", "in: task, small.toml:11"});
}

// Recipes of a program have no places, and recipes that say the same are equal
// wherever they say it.
TEST(Assembly, NeedsNoPlaces) {
  Recipe recipe = parse_recipe(kRecipe, "small.toml");
  EXPECT_EQ(recipe, parse_recipe("\n\n" + std::string(kRecipe), "other.toml"));
  recipe.places = {};
  recipe.model.views = {{"fc3.weight", "ternary"}};
  expect_error(ErrorCode::kInvalidArgument,
               {"model.views.0: no parameter is called 'fc3.weight'"},
               [&] { assemble(recipe); });
}

TEST(Assembly, IsTriedForAllRunsOfASweepBeforeTheFirst) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("small.toml", kRecipe);
  const std::vector<std::string> overrides{
      "log.folder=" + (folder / "runs").string(), "model.hidden=[16, 8],[16]",
      "optimizer.groups=[{parameters=\"fc3.*\", lr_scale=0.5}]"};
  const auto runs = load_sweep(path, overrides);
  SweepObserver quiet;
  int trained = 0;
  const auto train = [&](const Recipe&, TrainObserver&) {
    ++trained;
    return TrainResult();
  };
  expect_error(ErrorCode::kInvalidArgument,
               {"no parameter is called 'fc3.*'", "did you mean",
                "command line, --set optimizer.groups=", "run: model.hidden="},
               [&] { run_sweep(runs, {}, train, quiet); });
  EXPECT_EQ(trained, 0);
  run_sweep({runs.data(), 1}, {}, train, quiet);
  EXPECT_EQ(trained, 1);
}

TEST(Assembly, OpensDataOnceForWhoeverHasThem) {
  const Recipe recipe = parse_recipe(kRecipe, "small.toml");
  const auto data = open_data(recipe);
  EXPECT_EQ(&assemble(recipe, 1, {.data = data}).data->description(),
            &data->description());
  const auto with = [&](const std::string& override) {
    return parse_recipe(kRecipe, "small.toml", std::vector{override});
  };
  EXPECT_TRUE(have_same_data(recipe, with("optimizer.lr=0.1")));
  EXPECT_FALSE(have_same_data(recipe, with("train.batch=7")));
  EXPECT_FALSE(have_same_data(recipe, with("data.name=mnist")));
}

}  // namespace
}  // namespace weft::assembly_test
