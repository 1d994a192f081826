// What a model makes of its inputs, in a file by itself. Its weights are
// constants there, so that other kernels may run, which round otherwise.
#include "weft/train/step/export.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/train_step.h"
#include "tests/support/trees.h"
#include "tests/support/values.h"

#include "weft/files/exported.h"
#include "weft/nn/nn.h"
#include "weft/train/model_in_use.h"
#include "weft/train/recipe_step.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::export_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

TensorType images(std::int64_t size) { return {DType::kF32, {size, 4, 4, 1}}; }

// A batch of the task's inputs, which has labels too.
std::vector<Tensor> batch_of(std::int64_t size) {
  const Tensor labels = Tensor::zeros({DType::kI32, {size}});
  return {test::pattern(images(size).shape), labels};
}

TEST(Export, TellsWhatTheModelTells) {
  const TemporaryFolder folder;
  nn::Sequential model{
      nn::Conv2d{1, 4, 3}, nn::BatchNorm{4}, nn::relu,
      nn::Flatten{},       nn::Dropout{0.5}, nn::Linear{64, 3}};
  model.initialize(5);
  const auto optimizer = make_optimizer("adam", {});
  const auto task = make_task("classification");
  const StepDescription description(
      model, *task, {{"image", images(6)}, {"label", {DType::kI32, {6}}}}, {},
      optimizer.get());
  Step train(description, StepCut::kTrain);
  for (int i = 0; i < 5; ++i) train.run(batch_of(6), {.lr = 0.01, .number = i});
  export_step(folder / "net.weft", description);
  Step predict(description, StepCut::kPredict);
  const std::vector known{test::pattern({7, 4, 4, 1})};
  const Tensor expected = predict.predict(known).at(0);
  // What comes later does not reach the file: weights and statistics are as
  // they were.
  for (int i = 5; i < 9; ++i) train.run(batch_of(6), {.lr = 0.1, .number = i});
  EXPECT_FALSE(identical(predict.predict(known).at(0), expected));

  ExportedFunction function(folder / "net.weft");
  ASSERT_EQ(function.arguments().size(), 1u);
  EXPECT_EQ(function.arguments()[0].name, "image");
  EXPECT_EQ(to_string(function.arguments()[0].type), "f32[N, 4, 4, 1]");
  ASSERT_EQ(function.result_types().size(), 1u);
  EXPECT_EQ(to_string(function.result_types()[0]), "f32[N, 3]");
  // Batch norm is folded into the weights, which rounds elsewhere.
  const Tensor first = function.run(known).at(0);
  EXPECT_TRUE(test::near(first, expected, 1e-5));
  EXPECT_TRUE(identical(function.run(known).at(0), first));
}

TEST(Export, LeavesOutWhatPredictionsDoNotNeed) {
  const TemporaryFolder folder;
  nn::Sequential model{nn::Flatten{}, nn::Linear{16, 3}};
  model.initialize(5);
  const auto optimizer = make_optimizer("adam", {});
  const auto task = make_task("classification");
  export_step(
      folder / "net.weft",
      StepDescription(model, *task,
                      {{"image", images(6)}, {"label", {DType::kI32, {6}}}}, {},
                      optimizer.get()));
  const ExportedFunction function(folder / "net.weft");
  std::vector<std::string> hidden;
  for (const Hidden& each : function.function().hidden()) {
    hidden.push_back(to_string(each.value.type()));
  }
  EXPECT_EQ(hidden, (std::vector<std::string>{"f32[16, 3]", "f32[3]"}));
}

TEST(Export, GoesOnWithWhatAModelCarries) {
  const TemporaryFolder folder;
  const auto model = build_model(model_registry().get("lstm-lm"),
                                 {.example = {3}, .classes = 11, .lanes = 2},
                                 {{"hidden", std::int64_t{5}}});
  model->initialize(1);
  const auto task = make_task("language-model");
  const TensorType window{DType::kI32, {2, 3}};
  const StepDescription description(*model, *task,
                                    {{"text", window}, {"next", window}});
  export_step(folder / "lm.weft", description);
  ExportedFunction function(folder / "lm.weft");
  EXPECT_EQ(to_string(function.arguments().at(0).type), "i32[2, 3]");
  EXPECT_EQ(function.result_types().size(), 1u);
  const std::vector<Tensor> text{
      Tensor::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})};
  Step predict(description, StepCut::kPredict);
  const Tensor first = function.run(text).at(0);
  EXPECT_TRUE(identical(first, predict.predict(text).at(0)));

  // Two windows in a row are one that is twice as long.
  const Tensor second = function.run(text).at(0);
  const auto longer = build_model(model_registry().get("lstm-lm"),
                                  {.example = {6}, .classes = 11, .lanes = 2},
                                  {{"hidden", std::int64_t{5}}});
  longer->initialize(1);
  const TensorType both{DType::kI32, {2, 6}};
  Step whole(StepDescription(*longer, *task, {{"text", both}, {"next", both}}),
             StepCut::kPredict);
  const Tensor expected =
      whole
          .predict(std::vector{Tensor::of<std::int32_t>(
              {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6})})
          .at(0);
  EXPECT_TRUE(test::near(first, expected.slice(0, 3), 1e-6));
  EXPECT_TRUE(test::near(second, expected.slice(3, 6), 1e-6));
  EXPECT_FALSE(test::near(first, second, 1e-6));
  // A file that is opened anew begins anew.
  EXPECT_TRUE(
      identical(ExportedFunction(folder / "lm.weft").run(text).at(0), first));
}

TEST(Export, HoldsModelsThatRecurse) {
  const TemporaryFolder folder;
  const auto data = test::tree_data(test::tree_lines(6, 9, 2));
  const auto task = make_task("tree-labels");
  const auto model =
      build_model(model_registry().get("tree-lstm"),
                  {.example = data->features()[0].type.shape,
                   .classes = static_cast<std::int64_t>(data->classes().size()),
                   .words = static_cast<std::int64_t>(data->words().size())},
                  {{"hidden", std::int64_t{4}}});
  model->initialize(3);
  const auto batch = test::tree_batch(*data);
  const StepDescription description(
      *model, *task, {{"tree", batch[0].type()}, {"label", batch[1].type()}});
  export_step(folder / "trees.weft", description);
  const std::vector trees{batch[0]};
  EXPECT_TRUE(test::near(
      ExportedFunction(folder / "trees.weft").run(trees).at(0),
      Step(description, StepCut::kPredict).predict(trees).at(0), 1e-6));
}

class ExportOfRuns : public ::testing::Test {
 protected:
  Recipe recipe() const {
    const std::vector<std::string> overrides{"log.folder=" +
                                             (folder_ / "run").string()};
    return parse_recipe(R"toml(
[model]
name = "mlp"
hidden = [16]
views = [{parameters = "fc1.weight", view = "masked(density=0.5)"}]
[data]
name = "digits"
[optimizer]
name = "adam"
wrap = ["ema(0.9)"]
[train]
epochs = 1
batch = 128
)toml",
                        "test", overrides);
  }

  TemporaryFolder folder_;
};

// Averages and views are what predictions are made with.
TEST_F(ExportOfRuns, EqualsTheStepAndItsCheckpoint) {
  RecipeStep step(recipe());
  for (int i = 0; i < 8; ++i) step.train(step.next().tensors);
  step.save(folder_ / "step.safetensors");
  step.export_model(folder_ / "step.weft");
  export_trained(folder_ / "step.safetensors", folder_ / "trained.weft");
  const std::vector<Tensor> known{step.next().tensors[0]};
  const Tensor expected = step.predict(known).at(0);
  for (const char* file : {"step.weft", "trained.weft"}) {
    EXPECT_TRUE(test::near(ExportedFunction(folder_ / file).run(known).at(0),
                           expected, 1e-5))
        << file;
  }
}

// A file that stands alone says what its checkpoint says, and measures the
// same.
TEST_F(ExportOfRuns, StandsAlone) {
  TrainObserver quiet;
  Trainer(recipe(), {.name = "run"}).run(quiet);
  export_trained(folder_ / "run", folder_ / "net.weft");
  const auto checkpoint = open_model(folder_ / "run");
  const auto file = open_model(folder_ / "net.weft");
  EXPECT_EQ(file->info().metrics, checkpoint->info().metrics);
  EXPECT_EQ(file->description().classes(), checkpoint->description().classes());
  std::vector<std::vector<double>> sums;
  for (ModelInUse* model : {checkpoint.get(), file.get()}) {
    const auto evaluate =
        model->evaluation(model->data().measure(DataPart::kTest, Shard()));
    const MeasureSums first = evaluate();
    auto& told = sums.emplace_back();
    for (const Ratio& ratio : first.ratios()) {
      told.insert(told.end(), {ratio.sum, ratio.count});
    }
    EXPECT_EQ(evaluate().loss(), first.loss());
  }
  ASSERT_EQ(sums[0].size(), sums[1].size());
  for (std::size_t i = 0; i < sums[0].size(); ++i) {
    EXPECT_NEAR(sums[0][i], sums[1][i], 1e-5 * sums[0][i]) << i;
  }
  EXPECT_EQ(sums[1].at(1), 360);
  const std::string picture = WEFT_SOURCE_DIR "/data/digits/sample.png";
  const auto told = predict_typed(*file->predictor(), picture).json;
  const auto expected = predict_typed(*checkpoint->predictor(), picture).json;
  EXPECT_EQ(told["class"], expected["class"]);
  for (const auto& [name, probability] : expected["classes"].items()) {
    EXPECT_NEAR(told["classes"].at(name).get<double>(),
                probability.get<double>(), 1e-5)
        << name;
  }
  expect_error(ErrorCode::kUnavailable, {"nothing.png", "no such file"},
               [&] { predict_typed(*file->predictor(), "nothing.png"); });
  expect_error(ErrorCode::kInvalidArgument, {"net.weft", "was settled"}, [&] {
    open_model(folder_ / "net.weft", {.recurrent_weights = DType::kBF16});
  });
}

// What a task draws to measure is drawn in the same way from a file.
TEST(Export, MeasuresWhatTheModelMeasures) {
  const TemporaryFolder folder;
  const auto model =
      build_model(model_registry().get("vae"), {.example = {4, 4, 1}},
                  {{"hidden", std::int64_t{8}}});
  model->initialize(2);
  const auto task = make_task("autoencoder");
  const StepDescription description(*model, *task, {{"image", images(3)}},
                                    {.seed = 7});
  export_step(folder / "vae.weft", description);
  ExportedFunction evaluate(ExportedFile(folder / "vae.weft"),
                            kEvaluateFunction);
  Step step(description, StepCut::kEvaluate);
  const std::vector batch{test::pattern(images(3).shape)};
  for (const std::int64_t number : {0, 1}) {
    step.run(batch, {.number = number});
    const Tensor key = Tensor::of<std::int64_t>({2}, {7, number});
    const MeasureSums told = measure_sums(evaluate.run({key, batch[0]}));
    EXPECT_NEAR(told.loss(), step.measures().loss(), 1e-5) << number;
    EXPECT_NEAR(told.mean(3), step.measures().mean(3), 1e-5) << number;
  }
}

TEST_F(ExportOfRuns, RefusesWhatIsNoCheckpointAndToReplaceOne) {
  TrainObserver quiet;
  Trainer(recipe(), {.name = "run"}).run(quiet);
  const auto run = folder_ / "run";
  export_trained(run, folder_ / "net.weft");
  export_trained(run, folder_ / "net.weft");  // which replaces it
  expect_error(ErrorCode::kInvalidArgument,
               {"last.safetensors", "no exported function", "another name"},
               [&] { export_trained(run, run / "last.safetensors"); });
  EXPECT_NO_THROW(CheckpointFile(run / "last.safetensors"));
  expect_error(ErrorCode::kUnavailable, {"none.safetensors"}, [&] {
    export_trained(folder_ / "none.safetensors", folder_ / "x.weft");
  });
  expect_error(ErrorCode::kDataLoss, {"net.weft", "no checkpoint"}, [&] {
    export_trained(folder_ / "net.weft", folder_ / "x.weft");
  });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.weft"));
}

}  // namespace
}  // namespace weft::export_test
