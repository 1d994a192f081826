// Averages of parameters, which stand in for them where a model is measured,
// predicts and is loaded, while training goes on with the parameters.
#include <gtest/gtest.h>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/files/safetensors.h"
#include "weft/train/recipe_step.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::averages_test {
namespace {

using Tensors = std::map<std::string, Tensor>;

class Averages : public ::testing::TestWithParam<std::string> {
 protected:
  // The wrapper, and where its average is: "optimizer.ema.".
  std::string wrapper() const { return GetParam(); }
  std::string slots() const {
    return "optimizer." + wrapper().substr(0, wrapper().find('(')) + ".";
  }

  Recipe recipe(const std::string& folder, const std::string& wrap,
                std::vector<std::string> overrides = {}) const {
    overrides.push_back("log.folder=" + (folder_ / folder).string());
    return parse_recipe(R"(
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.1
wrap = [)" + wrap + R"(]
[train]
epochs = 3
batch = 128
[sync]
timeout = 20
)",
                        "test", overrides);
  }
  Recipe averaged(const std::string& folder,
                  std::vector<std::string> overrides = {}) const {
    return recipe(folder, '"' + wrapper() + '"', std::move(overrides));
  }

  TrainResult train(const Recipe& recipe, bool is_resumed = false) const {
    TrainObserver quiet;
    return Trainer(recipe, {.name = "run", .is_resumed = is_resumed})
        .run(quiet);
  }

  void train_by_two(const Recipe& recipe) const {
    ThreadWorld world(2);
    world.run([&](Transport& transport) {
      set_thread_count(1);
      TrainObserver quiet;
      Trainer(recipe, {.name = "run", .transport = &transport}).run(quiet);
    });
  }

  Tensors saved(const std::string& run,
                const std::string& file = "last.safetensors") const {
    const SafetensorsFile read(folder_ / run / file);
    Tensors tensors;
    for (const auto& entry : read.entries()) {
      tensors[entry.name] = read.read(entry);
    }
    return tensors;
  }

  static double accuracy_of(const TrainedModel& trained) {
    const Assembly& assembly = trained.assembly;
    auto source = assembly.data->measure(assembly.held_out(), Shard());
    const StepDescription description(*assembly.model, *assembly.task,
                                      source->inputs());
    Evaluation evaluation(description, std::move(source));
    return Scores(assembly.task->metrics(), evaluation.run()).get("accuracy");
  }

  test::TemporaryFolder folder_;
};

TEST_P(Averages, LeaveTrainingAsItIs) {
  train(averaged("with"));
  train(recipe("without", ""));
  const Tensors with = saved("with");
  for (const auto& [name, tensor] : saved("without")) {
    EXPECT_TRUE(identical(with.at(name), tensor)) << name;
  }
}

TEST_P(Averages, AreWhatIsMeasuredAndLoaded) {
  const TrainResult result = train(averaged("run"));
  const Tensors best = saved("run", "best.safetensors");
  const TrainedModel trained = load_trained(folder_ / "run");
  for (const auto& [name, parameter] : trained.assembly.model->parameters()) {
    EXPECT_TRUE(
        identical(parameter->variable.tensor(), best.at(slots() + name)));
    EXPECT_FALSE(identical(parameter->variable.tensor(), best.at(name)));
  }
  // The epochs were measured with what is loaded.
  EXPECT_EQ(accuracy_of(trained), result.test.get("accuracy"));
}

TEST_P(Averages, AreOnlyKeptWhereARecipeSaysSo) {
  std::string kept = wrapper();
  kept.insert(kept.size() - 1, ", evaluate=false");
  const TrainResult result = train(recipe("kept", '"' + kept + '"'));
  const TrainResult plain = train(recipe("plain", ""));
  EXPECT_EQ(result.test.all(), plain.test.all());
  const Tensors best = saved("kept", "best.safetensors");
  const TrainedModel trained = load_trained(folder_ / "kept");
  for (const auto& [name, parameter] : trained.assembly.model->parameters()) {
    EXPECT_TRUE(identical(parameter->variable.tensor(), best.at(name)));
    EXPECT_TRUE(best.contains(slots() + name));
  }
}

TEST_P(Averages, GoOnWhereTheyWere) {
  const TrainResult whole = train(averaged("whole"));
  Recipe part = averaged("parts");
  part.train.max_steps = 17;  // within an epoch
  train(part);
  const TrainResult parts = train(averaged("parts"), /*is_resumed=*/true);
  EXPECT_EQ(parts.test.all(), whole.test.all());
  const Tensors expected = saved("whole");
  const Tensors actual = saved("parts");
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    EXPECT_TRUE(identical(actual.at(name), tensor)) << name;
  }
}

TEST_P(Averages, OfAGroupAlone) {
  train(recipe("run", "",
               {"optimizer.groups=[{parameters=\"fc1.*\", wrap=[\"" +
                wrapper() + "\"]}]"}));
  const Tensors best = saved("run", "best.safetensors");
  const TrainedModel trained = load_trained(folder_ / "run");
  for (const auto& [name, parameter] : trained.assembly.model->parameters()) {
    const bool is_averaged = name.starts_with("fc1.");
    EXPECT_EQ(best.contains(slots() + name), is_averaged) << name;
    EXPECT_TRUE(identical(parameter->variable.tensor(),
                          best.at(is_averaged ? slots() + name : name)));
  }
}

TEST_P(Averages, OfSeveralWorkersAreThoseOfOne) {
  train(averaged("one"));
  train_by_two(averaged("two", {"sync.topology=2@20us,1GB/s"}));
  const Tensors one = saved("one");
  const Tensors two = saved("two");
  for (const auto& [name, tensor] : one) {
    EXPECT_TRUE(test::near(two.at(name), tensor, 1e-4)) << name;
  }
  const TrainedModel trained = load_trained(folder_ / "two");
  EXPECT_EQ(accuracy_of(trained), trained.info.metrics.at("best_accuracy"));
}

// Each worker has the averages of its part of the model, and measures with all.
TEST_P(Averages, NeedWorkersThatHaveAllOfThem) {
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"lies with another worker", "allreduce"}, [&] {
                       train_by_two(averaged("run", {"sync.policy=server",
                                                     "sync.bucket_bytes=512"}));
                     });
}

TEST_P(Averages, AreWhatAStepIsMeasuredWith) {
  RecipeStep step(averaged("step"));
  for (int i = 0; i < 8; ++i) step.train(step.next().tensors);
  const std::filesystem::path path = folder_ / "step.safetensors";
  step.save(path);
  const double accuracy = step.evaluate().get("accuracy");
  const std::vector<Tensor> images{step.next().tensors[0]};
  const Tensor guess = step.predict(images).at(0).clone();
  const TrainedModel trained = load_trained(path);
  EXPECT_EQ(accuracy, accuracy_of(trained));
  const StepDescription loaded(*trained.assembly.model, *trained.assembly.task,
                               trained.assembly.data->train(Shard())->inputs());
  EXPECT_TRUE(
      identical(guess, Step(loaded, StepCut::kPredict).predict(images).at(0)));
}

INSTANTIATE_TEST_SUITE_P(Wrappers, Averages,
                         ::testing::Values("ema(0.9)",
                                           "average(start=8, every=2)"),
                         [](const auto& tested) {
                           return tested.param.substr(0,
                                                      tested.param.find('('));
                         });

}  // namespace
}  // namespace weft::averages_test
