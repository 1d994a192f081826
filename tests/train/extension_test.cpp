// A task and a section from outside of the tree, as
// docs/guides/adding-a-task.md has them: they join registries of their own
// here, and the build's with WEFT_EXTENSIONS
// (tests/repo/extension_slow_test.py).
#include <gtest/gtest.h>

#include "examples/extension/weft/train/sections/target.cpp"
#include "examples/extension/weft/train/tasks/quantile.cpp"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/loader.h"
#include "weft/data/table.h"
#include "weft/nn/nn.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/trainer.h"

namespace weft {
namespace {

TEST(Extension, ATaskOfAnotherTreeTrains) {
  TrainingTaskRegistry tasks("task");
  register_training_task_quantile(tasks);
  tasks.freeze();
  const TrainingTaskDef& def = tasks.get("quantile");
  const auto task = def.make(complete(def.options, {{"share", 0.75}}, "task"));

  // Of each kind of row there are targets 0 … 7.
  std::string text;
  for (int i = 0; i < 64; ++i)
    text += fmt::format("{},{}.0\n", i / 8 % 2, i % 8);
  const auto data = parse_table(text, "t.csv", {.numbers = {"2"}});
  task->check(*data);
  task->fit(*data);
  nn::Sequential model{nn::Linear{1, 1}};
  model.initialize(1);
  auto source = std::make_unique<Loader>(data, LoaderOptions{.batch = 64});
  const auto optimizer = make_optimizer("adam", {});
  const StepDescription description(model, *task, source->inputs(), {},
                                    optimizer.get());
  Step step(description, StepCut::kTrain);
  for (int i = 0; i < 300; ++i) {
    step.run(source->next().tensors, {.lr = 0.02, .number = i});
  }
  Evaluation evaluation(description, std::move(source));
  const Scores scores(task->metrics(), evaluation.run());
  EXPECT_NEAR(scores.get("below"), 0.75, 0.13);
  const double told =
      Step(description, StepCut::kPredict)
          .predict(std::vector{Tensor::of<float>({1, 1}, {1})})[0]
          .item();
  EXPECT_NEAR(told, 5.5, 0.7);

  test::expect_error(ErrorCode::kInvalidArgument, {"quantile", "share"}, [&] {
    def.make(complete(def.options, {{"share", 1.0}}, "task"));
  });
}

TEST(Extension, ASectionOfAnotherTreeEndsARun) {
  RecipeSectionRegistry sections("section");
  register_recipe_section_target(sections);
  sections.freeze();
  const test::TemporaryFolder folder;
  Recipe recipe = parse_recipe(
      "[model]\nname = 'mlp'\n[data]\nname = 'digits'\n"
      "[optimizer]\nname = 'adam'\n[train]\nepochs = 50\n",
      "test", std::vector{"log.folder=" + (folder.path() / "run").string()});
  // A run without the section has no such hook.
  EXPECT_TRUE(section_hooks(recipe, sections).empty());

  recipe.more["target"] = {{"loss", 0.5}};
  TrainObserver quiet;
  Trainer trainer(recipe, {.name = "run"});
  for (auto& hook : section_hooks(recipe, sections)) {
    trainer.add(std::move(hook));
  }
  const TrainResult result = trainer.run(quiet);
  EXPECT_LT(result.epochs, 50);
  EXPECT_LE(result.test.loss(), 0.5);

  recipe.more["target"] = {{"los", 0.5}};
  test::expect_error(ErrorCode::kInvalidArgument, {"target", "loss"},
                     [&] { section_hooks(recipe, sections); });
}

}  // namespace
}  // namespace weft
