#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

#include "weft/data/fetch.h"
#include "weft/data/loader.h"
#include "weft/ops/ops.h"
#include "weft/optim/optimizer.h"
#include "weft/train/step/step.h"
#include "weft/train/step/step_functions.h"
#include "weft/train/step/translator.h"

namespace weft::sequence_to_sequence_test {
namespace {

// Sentences whose translation is the same words, capitalised.
class SequenceToSequenceTask : public ::testing::Test {
 protected:
  SequenceToSequenceTask() {
    std::string source;
    std::string target;
    for (int i = 0; i < 12; ++i) {
      for (int j = 0; j <= i % 4; ++j) {
        source += fmt::format("{} ", static_cast<char>('a' + (i + j) % 5));
        target += fmt::format("{} ", static_cast<char>('A' + (i + j) % 5));
      }
      source += '\n';
      target += '\n';
    }
    for (const char* part : {"train", "test"}) {
      folder_.write(fmt::format("{}.source", part), source);
      folder_.write(fmt::format("{}.target", part), target);
    }
    splits_ = open_data({.name = "parallel-text", .folder = folder_.path()});
    model_ = build_model(model_registry().get("seq2seq"),
                         task("sequence-to-sequence")->model_input(data()),
                         {{"layers", std::int64_t{1}},
                          {"width", std::int64_t{8}},
                          {"heads", std::int64_t{2}}});
    model_->initialize(1);
  }

  static std::unique_ptr<TrainingTask> task(const char* name,
                                            const Options& options = {}) {
    return make_task(name, options);
  }
  const Dataset& data() const { return *splits_.train; }

  test::TemporaryFolder folder_;
  DatasetSplits splits_;
  std::unique_ptr<nn::Module> model_;
};

const Tensor kSource = Tensor::of<std::int32_t>({2, 4}, {4, 2, 0, 0,  //
                                                         5, 6, 7, 2});
const Tensor kTarget = Tensor::of<std::int32_t>({2, 4}, {1, 4, 2, 0,  //
                                                         1, 6, 5, 2});

TEST_F(SequenceToSequenceTask, MeasuresWordsAndNoPadding) {
  const auto told = task("sequence-to-sequence");
  const Objective objective =
      told->objective(*model_, std::vector<Value>{kSource, kTarget});
  const Tensor next =
      told->prediction(*model_, std::vector<Value>{kSource, kTarget})
          .at(0)
          .tensor();
  // <bos> A <eos>, and <bos> C B <eos>: five words to tell.
  const std::int64_t words = next.shape()[2];
  double loss = 0;
  for (const auto& [row, place, word] :
       {std::array{0, 0, 4}, {0, 1, 2}, {1, 0, 6}, {1, 1, 5}, {1, 2, 2}}) {
    loss -= next.item((row * 4 + place) * words + word);
  }
  const Measure& measure = objective.measures.at(0);
  EXPECT_EQ(measure.count.tensor().item(), 5);
  EXPECT_NEAR(measure.sum.tensor().item(), loss, 1e-4);
  EXPECT_NEAR(objective.loss.tensor().item(), loss / 5, 1e-5);
  EXPECT_EQ(objective.measures.at(1).count.tensor().item(), 5);
  EXPECT_LE(objective.measures.at(1).sum.tensor().item(), 5);
}

TEST_F(SequenceToSequenceTask, SmoothsWhatIsMinimisedAlone) {
  const std::vector<Value> batch{kSource, kTarget};
  const auto plain = task("sequence-to-sequence")->objective(*model_, batch);
  const auto smoothed = task("sequence-to-sequence", {{"smoothing", 0.2}})
                            ->objective(*model_, batch);
  EXPECT_EQ(smoothed.measures[0].sum.tensor().item(),
            plain.measures[0].sum.tensor().item());
  // A target of 0.8 at the word and 0.2 shared by all.
  const Tensor logits =
      slice_axis(task("sequence-to-sequence")->prediction(*model_, batch).at(0),
                 1, 0, 3)
          .tensor();
  const std::int64_t words = logits.shape()[2];
  const Value target =
      one_hot(slice_axis(Value(kTarget), 1, 1, 4), words) * 0.8 +
      0.2 / static_cast<double>(words);
  const Value weight = cast(
      not_equal(slice_axis(Value(kTarget), 1, 1, 4), scalar(0, DType::kI32)),
      DType::kF32);
  EXPECT_NEAR(
      smoothed.loss.tensor().item(),
      sum(cross_entropy_dense(Value(logits), target) * weight).tensor().item() /
          5,
      1e-5);
}

TEST_F(SequenceToSequenceTask, TrainsOnRaggedBatchesAndTranslates) {
  const auto told = task("sequence-to-sequence", {{"beam", std::int64_t{2}}});
  EXPECT_FALSE(told->declines(data()));
  Loader loader(splits_.train, {.batch = 5, .shuffle = true, .seed = 1});
  const auto optimizer = make_optimizer("adam", {});
  const StepDescription description(*model_, *told, loader.inputs(), {},
                                    optimizer.get());
  Step step(description, StepCut::kTrain);
  for (std::int64_t i = 0; i < 250; ++i) {
    step.run(loader.next().tensors, {.lr = 0.01, .number = i});
  }
  EXPECT_LT(step.loss(), 0.05);
  const PredictorContext context{data(), functions_of(description)};
  Loader test(splits_.test, {.batch = 5});
  const auto scores = told->score_predictions(context, test);
  ASSERT_EQ(scores.size(), 1u);
  EXPECT_EQ(scores[0].metric.name, "bleu");
  EXPECT_NEAR(scores[0].value, 100, 1e-9);
  const Prediction prediction = told->predictor(context)->predict({"c d e"});
  EXPECT_EQ(prediction.lines, std::vector<std::string>{"C D E"});
  EXPECT_EQ(prediction.json["translation"], "C D E");
  EXPECT_EQ(prediction.json["beam"].size(), 2u);
  test::expect_error(ErrorCode::kInvalidArgument, {"no words"},
                     [&] { told->predictor(context)->predict({" "}); });
}

// What the search says of a translation is what the model says of its words.
TEST_F(SequenceToSequenceTask, SearchTellsTheModelsProbabilities) {
  const auto searching =
      task("sequence-to-sequence", {{"beam", std::int64_t{3}}});
  const StepDescription description(*model_, *searching,
                                    example_inputs(data()));
  Translator translator(functions_of(description), {.beam = 3});
  const std::vector<Translator::Sentence> sources = {
      {4, 2}, {5, 6, 7, 5, 4, 2}, {8, 4, 2}};
  const auto found = translator.translate(sources);
  const auto told = task("sequence-to-sequence");
  for (std::size_t s = 0; s < sources.size(); ++s) {
    ASSERT_EQ(found[s].size(), 3u);
    for (const Hypothesis& hypothesis : found[s]) {
      std::vector<std::int32_t> words{1};
      words.insert(words.end(), hypothesis.words.begin(),
                   hypothesis.words.end());
      const auto tensor = [](const std::vector<std::int32_t>& row) {
        return Value(
            Tensor::of<std::int32_t>({1, std::ssize(row)}, std::span(row)));
      };
      const Tensor next =
          told->prediction(*model_,
                           std::vector{tensor(sources[s]), tensor(words)})
              .at(0)
              .tensor();
      words.push_back(2);
      double expected = 0;
      for (std::size_t i = 1; i < words.size(); ++i) {
        expected += next.item(
            static_cast<std::int64_t>(i - 1) * next.shape()[2] + words[i]);
      }
      EXPECT_NEAR(hypothesis.log_probability, expected, 1e-3);
    }
  }
}

TEST_F(SequenceToSequenceTask, RefusesWhatDoesNotFit) {
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"'smoothing' = 1 must be in [0, 1)"}, [] {
                       task("sequence-to-sequence", {{"smoothing", 1.0}});
                     });
  test::expect_error(
      ErrorCode::kInvalidArgument, {"'beam' = 0 must be at least 1"}, [] {
        task("sequence-to-sequence", {{"beam", std::int64_t{0}}});
      });
  test::expect_error(ErrorCode::kInvalidArgument, {"no trees"}, [&] {
    check_data("tree-labels", *task("tree-labels"), data());
  });
  const auto digits = open_data({.name = "digits"});
  test::expect_error(ErrorCode::kInvalidArgument, {"translations"}, [&] {
    check_data("sequence-to-sequence", *task("sequence-to-sequence"),
               *digits.train);
  });
}

}  // namespace
}  // namespace weft::sequence_to_sequence_test
