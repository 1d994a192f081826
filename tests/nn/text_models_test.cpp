// Simple recurrent units, rows of different lengths, and what classifies them.
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/train_step.h"
#include "tests/support/values.h"

#include "weft/nn/model.h"
#include "weft/nn/nn.h"
#include "weft/ops/ops.h"

namespace weft::text_models_test {
namespace {

using test::near;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Equations 1 to 4 of Lei et al. (2017), number by number; `columns` says how
// many blocks the weight has.
std::vector<double> by_the_equations(const nn::Module& layer, const Tensor& x,
                                     std::int64_t hidden) {
  const auto value = [&](const char* name) {
    return test::numbers(nn::find_parameter(layer, name)->variable.tensor());
  };
  const auto w = value("0.weight");
  const auto v = value("0.state_weight");
  const auto b = value("0.bias");
  const auto inputs = static_cast<std::size_t>(x.shape()[2]);
  const auto batch = static_cast<std::size_t>(x.shape()[1]);
  const auto units = static_cast<std::size_t>(hidden);
  const std::size_t columns = w.size() / inputs;
  const auto numbers = test::numbers(x);
  std::vector<double> c(batch * units);
  std::vector<double> all;
  for (std::size_t t = 0; t < static_cast<std::size_t>(x.shape()[0]); ++t) {
    for (std::size_t n = 0; n < batch; ++n) {
      const double* at = &numbers[(t * batch + n) * inputs];
      for (std::size_t j = 0; j < units; ++j) {
        const auto product = [&](std::size_t block) {
          double sum = 0;
          for (std::size_t i = 0; i < inputs; ++i) {
            sum += at[i] * w[i * columns + block * units + j];
          }
          return sum;
        };
        double& state = c[n * units + j];
        const double f = sigmoid(product(1) + v[j] * state + b[j]);
        const double r =
            sigmoid(product(2) + v[units + j] * state + b[units + j]);
        state = f * state + (1 - f) * product(0);
        const double highway = columns == 4 * units ? product(3) : at[j];
        all.push_back(r * state + (1 - r) * std::sqrt(3.0) * highway);
      }
    }
  }
  return all;
}

TEST(Sru, FollowsItsEquations) {
  for (const std::int64_t hidden : {3, 5}) {
    nn::Sru layer(3, hidden);
    layer.initialize(2);
    const auto set = [&](const char* name, std::uint64_t seed) {
      nn::find_parameter(layer, name)
          ->variable.set_tensor(test::pattern({2 * hidden}, -1, 1, seed));
    };
    set("0.state_weight", 3);
    set("0.bias", 4);
    const Tensor x = test::pattern({4, 2, 3});
    const auto found = test::numbers(layer(x).tensor());
    const auto expected = by_the_equations(layer, x, hidden);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
    }
  }
}

TEST(Sru, CarriesItsState) {
  nn::Sru layer(3, 3, {.layers = 2});
  nn::Sru carrying(3, 3, {.layers = 2, .carried_batch = 2});
  layer.initialize(2);
  carrying.initialize(2);
  const Value x = test::pattern({4, 2, 3});
  const Value first = carrying(slice_axis(x, 0, 0, 1));
  const Value rest = carrying(slice_axis(x, 0, 1, 4));
  EXPECT_TRUE(near(concat(std::vector{first, rest}, 0).tensor(),
                   layer(x).tensor(), 1e-6));
}

const Tensor kIsWord = Tensor::of<bool>({3, 3}, {true, true, false,  //
                                                 true, true, true,   //
                                                 false, false, false});
// [steps, batch, 1]: row n has the words 10 n + 1, 10 n + 2, …
const Tensor kRows = Tensor::of<float>({3, 3, 1}, {1, 11, 21,  //
                                                   2, 12, 22,  //
                                                   3, 13, 23});

TEST(PaddedWords, AreReadUpToTheLast) {
  EXPECT_TRUE(near(nn::at_last_word(kRows, kIsWord).tensor(),
                   Tensor::of<float>({3, 1}, {2, 13, 0}), 0));
}

TEST(PaddedWords, AreReversedBeforeTheirPadding) {
  const Value reversed = nn::reverse_words(kRows, kIsWord);
  EXPECT_TRUE(near(reversed.tensor(),
                   Tensor::of<float>({3, 3, 1}, {2, 13, 21,  //
                                                 1, 12, 22,  //
                                                 3, 11, 23}),
                   0));
  EXPECT_TRUE(identical(nn::reverse_words(reversed, kIsWord).tensor(), kRows));
}

class TextClassifier : public ::testing::TestWithParam<std::string> {
 protected:
  TextClassifier()
      : model_(build_model(
            model_registry().get(GetParam()),
            {.example = {6}, .classes = 3, .words = 9},
            {{"embedding", std::int64_t{8}}, {"hidden", std::int64_t{12}}})) {
    model_->initialize(1);
  }

  std::unique_ptr<nn::Module> model_;
};

TEST_P(TextClassifier, DependsOnNoPadding) {
  auto& layer = dynamic_cast<nn::Layer&>(*model_);
  const Tensor plain =
      layer(Tensor::of<std::int32_t>({1, 3}, {5, 8, 2})).tensor();
  const Tensor padded =
      layer(Tensor::of<std::int32_t>({1, 5}, {5, 8, 2, 0, 0})).tensor();
  EXPECT_TRUE(near(padded, plain, 1e-6));
  const Tensor other =
      layer(Tensor::of<std::int32_t>({1, 3}, {8, 5, 2})).tensor();
  EXPECT_FALSE(near(other, plain, 1e-6));
}

TEST_P(TextClassifier, LowersItsLoss) {
  const Tensor words = Tensor::of<std::int32_t>({3, 4}, {5, 8, 0, 0,  //
                                                         3, 8, 4, 2,  //
                                                         7, 0, 0, 0});
  const Tensor labels = Tensor::of<std::int32_t>({3}, {0, 1, 2});
  const auto optimizer = make_optimizer("adam", {});
  const auto task = make_task("classification");
  const StepDescription description(
      *model_, *task, {{"text", words.type(), {1}}, {"label", labels.type()}},
      {}, optimizer.get());
  Step step(description, StepCut::kTrain);
  const std::vector<Tensor> batch = {words, labels};
  step.run(batch, {.lr = 0.02});
  const double first = step.loss();
  for (int i = 1; i < 40; ++i) step.run(batch, {.lr = 0.02, .number = i});
  EXPECT_LT(step.loss(), 0.5 * first);
}

INSTANTIATE_TEST_SUITE_P(Zoo, TextClassifier,
                         ::testing::Values("lstm-classifier", "sru-classifier"),
                         [](const auto& each) {
                           return each.param.substr(0, 3) == "sru" ? "Sru"
                                                                   : "Lstm";
                         });

TEST(TextClassifiers, CountTheirParameters) {
  const auto count = [](const char* name) {
    return build_model(model_registry().get(name),
                       {.example = {6}, .classes = 5, .words = 100},
                       {{"embedding", std::int64_t{64}}})
        ->parameter_count();
  };
  const std::int64_t ends = 100 * 64 + 128 * 5 + 5;
  EXPECT_EQ(count("lstm-classifier"),
            ends + (64 + 128) * 512 + 512 + 256 * 512 + 512);
  // The first layer has a highway of its own, as it is wider than the words.
  EXPECT_EQ(count("sru-classifier"),
            ends + 64 * 512 + 128 * 384 + 2 * (256 + 256));
}

TEST(ModelZoo, RefusesWordsWhereItKnowsNothingOfThem) {
  test::expect_error(ErrorCode::kInvalidArgument, {"mlp", "rows of words"}, [] {
    build_model(model_registry().get("mlp"),
                {.example = {6}, .classes = 5, .words = 100}, {});
  });
}

}  // namespace
}  // namespace weft::text_models_test
