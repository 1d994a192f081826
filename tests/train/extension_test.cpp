// What a tree of one's own adds, as docs/guides has it: each file joins a
// registry of its own here, and the build's with WEFT_EXTENSIONS
// (tests/repo/extension_slow_test.py).
#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "examples/extension/cli/verbs/losses.cpp"
#include "examples/extension/weft/data/augmentations/invert.cpp"
#include "examples/extension/weft/train/sections/target.cpp"
#include "examples/extension/weft/train/sources/spirals.cpp"
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

TEST(Extension, ASourceOfAnotherTreeMakesBatches) {
  BatchSourceRegistry sources("batch source");
  register_batch_source_spirals(sources);
  const BatchSourceDef& def = sources.get("spirals");
  const auto open = [&](const Options& own) {
    return def.open({.name = "spirals",
                     .folder = {},
                     .augment = {},
                     .batch = 16,
                     .own = complete(def.options("spirals"), own, "data")});
  };
  const auto data = open({{"points", std::int64_t{40}}});
  const auto source = data->train({});
  EXPECT_EQ(source->batches_per_epoch(), 3);
  const Tensor first = source->next().tensors[0].clone();
  EXPECT_EQ(first.shape(), Shape({16, 2}));
  source->next();
  EXPECT_EQ(source->next().size, 8);
  EXPECT_FALSE(identical(source->next().tensors[0], first));  // epoch 1
  source->seek({});
  EXPECT_TRUE(identical(source->next().tensors[0], first));
  const auto part = data->train({.rank = 1, .ranks = 2});
  EXPECT_TRUE(identical(part->next().tensors[0], first.slice(8, 16)));
  test::expect_error(ErrorCode::kInvalidArgument, {"did you mean 'spirals'?"},
                     [&] { def.options("spiral"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"points", "at least 1"},
                     [&] {
                       open({{"points", std::int64_t{0}}});
                     });
}

TEST(Extension, AnAugmentationOfAnotherTreeChangesImages) {
  AugmentationRegistry augmentations("augmentation");
  register_augmentation_invert(augmentations);
  const AugmentationDef& def = augmentations.get("invert");
  std::vector<std::uint8_t> pixels{0, 1, 255, 100};
  const ImagePixels image{pixels.data(), 2, 2, 1};
  def.make({{"chance", 0.0}})->apply({}, image);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{0, 1, 255, 100}));
  def.make({{"chance", 1.0}})->apply({}, image);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{255, 254, 0, 155}));
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

TEST(Extension, AVerbOfAnotherTreeReadsTheCommandLine) {
  cli::VerbRegistry verbs("verb");
  register_verb_losses(verbs);
  const cli::VerbDef& def = verbs.get("losses");
  CLI::App app;
  def.add(*app.add_subcommand(def.name, def.summary));

  const test::TemporaryFolder folder;
  const std::string out = (folder.path() / "run").string();
  TrainObserver quiet;
  Trainer trainer(
      parse_recipe("[model]\nname = 'mlp'\n[data]\nname = 'digits'\n"
                   "[optimizer]\nname = 'adam'\n"
                   "[train]\nepochs = 2\neval_every = 2\n",
                   "test", std::vector{"log.folder=" + out}),
      {.name = "run"});
  trainer.run(quiet);

  testing::internal::CaptureStdout();
  app.parse("losses " + out);
  std::istringstream printed(testing::internal::GetCapturedStdout());
  std::string title, first_epoch, train, held_out, second_epoch;
  std::getline(printed, title);
  printed >> first_epoch >> train >> held_out >> second_epoch;
  EXPECT_EQ(first_epoch, "1");
  EXPECT_GT(std::stod(train), 0);
  EXPECT_EQ(held_out, "nan");  // every second epoch is measured
  EXPECT_EQ(second_epoch, "2");

  EXPECT_THROW(app.parse("losses"), CLI::RequiredError);
  test::expect_error(ErrorCode::kInvalidArgument, {"none"},
                     [&] { app.parse("losses none"); });
}

}  // namespace
}  // namespace weft
