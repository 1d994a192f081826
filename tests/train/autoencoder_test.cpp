// The bound of an autoencoder, term by term.
#include "weft/nn/autoencoder.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/graph/surroundings.h"
#include "weft/optim/optimizer.h"
#include "weft/train/step/step.h"

namespace weft::autoencoder_test {
namespace {

Tensor filled(const Shape& shape, double value) {
  Tensor tensor = Tensor::zeros({DType::kF32, shape});
  std::ranges::fill(tensor.span<float>(), static_cast<float>(value));
  return tensor;
}

// Codes and logits that do not depend on what goes in.
class FixedAutoencoder : public nn::Autoencoder {
 public:
  FixedAutoencoder(double mean, double log_variance, double logit)
      : mean_(mean), log_variance_(log_variance), logit_(logit) {}

  Code encode(const Value& x) override {
    const Shape shape{x.shape()[0], 3};
    return {filled(shape, mean_), filled(shape, log_variance_)};
  }
  Value decode(const Value& code) override {
    return filled({code.shape()[0], 2, 2, 1}, logit_);
  }
  std::int64_t code_size() const override { return 3; }

 private:
  double mean_;
  double log_variance_;
  double logit_;
};

Tensor images(double pixel) { return filled({5, 2, 2, 1}, pixel); }

std::vector<double> terms(nn::Module& model, double pixel, double beta) {
  const RandomKeyScope key(Tensor::of<std::int64_t>({2}, {1, 0}));
  const Tensor label = Tensor::zeros({DType::kI32, {5}});
  const Objective found =
      make_task("autoencoder", {{"beta", beta}})
          ->objective(model, std::vector<Value>{images(pixel), label});
  std::vector<double> means;
  for (const Measure& measure : found.measures) {
    means.push_back(measure.sum.tensor().item() /
                    measure.count.tensor().item());
  }
  EXPECT_NEAR(found.loss.tensor().item(), means[0], 1e-4);
  return means;
}

TEST(Autoencoder, TheBoundIsReconstructionAndDivergence) {
  FixedAutoencoder model(0.5, -1.0, 2.0);
  const double pixel = 0.25;
  const double logistic = std::log1p(std::exp(-2.0));  // -log sigmoid(2)
  const double reconstruction =
      4 * (pixel * logistic + (1 - pixel) * (logistic + 2.0));
  const double divergence = -0.5 * 3 * (1.0 - 1.0 - 0.25 - std::exp(-1.0));
  const auto found = terms(model, pixel, 3.0);
  EXPECT_NEAR(found[2], reconstruction, 1e-4);
  EXPECT_NEAR(found[3], divergence, 1e-4);
  EXPECT_NEAR(found[1], reconstruction + divergence, 1e-4);
  EXPECT_NEAR(found[0], reconstruction + 3.0 * divergence, 1e-4);
}

TEST(Autoencoder, CodesLikeThePriorDivergeByNothing) {
  FixedAutoencoder model(0.0, 0.0, 0.0);
  EXPECT_NEAR(terms(model, 0.5, 1.0)[3], 0.0, 1e-6);
}

TEST(Autoencoder, LogitsOfAnySizeGiveFiniteLosses) {
  for (const double logit : {-1e4, 1e4}) {
    FixedAutoencoder model(0.0, 0.0, logit);
    const double right = logit > 0 ? 1.0 : 0.0;
    EXPECT_NEAR(terms(model, right, 1.0)[2], 0.0, 1e-4);
    EXPECT_NEAR(terms(model, 1.0 - right, 1.0)[2], 4e4, 1.0);
  }
}

TEST(Autoencoder, LearnsToMakeImagesAgain) {
  const auto task = make_task("autoencoder");
  const auto model =
      build_model(model_registry().get("vae"), {.example = {4, 4, 1}},
                  {{"hidden", std::int64_t{32}}, {"code", std::int64_t{4}}});
  model->initialize(1);
  const Tensor x = Tensor::zeros({DType::kF32, {16, 4, 4, 1}});
  for (std::int64_t i = 0; i < 16; ++i) {
    // Each image has one row of ink.
    for (std::int64_t j = 0; j < 4; ++j) {
      x.data<float>()[16 * i + 4 * (i % 4) + j] = 1;
    }
  }
  const std::vector<Tensor> batch{x, Tensor::zeros({DType::kI32, {16}})};
  const auto optimizer = make_optimizer("adam", {});
  const StepDescription description(
      *model, *task, {{"image", x.type()}, {"label", batch[1].type()}}, {},
      optimizer.get());
  Step train(description, StepCut::kTrain);
  for (int i = 0; i < 600; ++i) train.run(batch, {.lr = 0.01, .number = i});
  Step evaluate(description, StepCut::kEvaluate);
  evaluate.run(batch);
  // Four kinds of images take log(4) to tell apart at least.
  EXPECT_GT(evaluate.loss(), std::log(4.0) - 0.01);
  EXPECT_LT(evaluate.loss(), 3.0);
  const auto made =
      Step(description, StepCut::kPredict).predict(std::vector{x});
  EXPECT_TRUE(test::near(made[0], x, 0.2));
}

TEST(Autoencoder, OtherModelsAreRefused) {
  const auto task = make_task("autoencoder");
  const auto model = build_model(model_registry().get("mlp"),
                                 {.example = {2, 2, 1}, .classes = 4}, {});
  model->initialize(1);
  test::expect_error(
      ErrorCode::kInvalidArgument, {"needs an autoencoder"}, [&] {
        Step(StepDescription(
                 *model, *task,
                 {{"image", images(0).type()}, {"label", {DType::kI32, {5}}}}),
             StepCut::kEvaluate);
      });
}

}  // namespace
}  // namespace weft::autoencoder_test
