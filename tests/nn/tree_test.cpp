// Recursive networks: by hand, and staged against recursion of the host.
#include "weft/nn/tree.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/train_step.h"
#include "tests/support/trees.h"
#include "tests/support/values.h"

#include "weft/nn/model.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"

namespace weft::tree_test {
namespace {

std::unique_ptr<nn::Module> model_for(const std::string& name,
                                      const Dataset& data, Options options) {
  auto model =
      build_model(model_registry().get(name),
                  {.example = data.features()[0].type.shape,
                   .classes = static_cast<std::int64_t>(data.classes().size()),
                   .words = static_cast<std::int64_t>(data.words().size())},
                  options);
  model->initialize(3);
  return model;
}

void set(nn::Module& module, const std::string& name, const Tensor& value) {
  nn::find_parameter(module, name)->variable.set_tensor(value);
}

// Words have the numbers 1 (a) and 2 (b), by how often they occur. With
// h = relu(2 left - right + 1), a = 5 and b = 3, the tree (b (b a))
// is relu(2 x 3 - relu(2 x 3 - 5 + 1) + 1) = 5.
TEST(TreeRnn, ByHand) {
  const auto data = test::tree_data("(4 (1 b) (0 (2 b) (3 a)))\n(2 a)\n");
  const auto model =
      model_for("tree-rnn", *data, {{"hidden", std::int64_t{1}}});
  set(*model, "embedding.weight", Tensor::of<float>({3, 1}, {0, 5, 3}));
  set(*model, "weight", Tensor::of<float>({2, 1}, {2, -1}));
  set(*model, "bias", Tensor::of<float>({1}, {1}));
  set(*model, "classifier.weight", Tensor::of<float>({1, 5}, {0, 0, 0, 0, 1}));
  set(*model, "classifier.bias", Tensor::of<float>({5}, {0, 0, 0, 0, -4}));
  const auto batch = test::tree_batch(*data);
  const auto logits = [](float h) {
    return Tensor::of<float>({5}, {0, 0, 0, 0, h - 4});
  };
  const Tensor roots = dynamic_cast<nn::Layer&>(*model)(batch[0]).tensor();
  ASSERT_EQ(roots.shape(), (Shape{2, 5}));
  EXPECT_TRUE(test::near(roots.slice(0, 1).reshape({5}), logits(5), 1e-6));
  EXPECT_TRUE(test::near(roots.slice(1, 2).reshape({5}), logits(5), 1e-6));

  // Only the class 4 has a logit: the loss is log(4 + e^z) - (label = 4) z.
  const auto loss = [](double h, bool is_four) {
    const double z = h - 4;
    return std::log(4 + std::exp(z)) - (is_four ? z : 0);
  };
  const double first =
      loss(5, true) + 2 * loss(3, false) + loss(2, false) + loss(5, false);
  const Objective found =
      test::objective(*model, "tree-labels", batch[0], batch[1]);
  EXPECT_NEAR(found.loss.tensor().item(), (first + loss(5, false)) / 2, 1e-5);
  EXPECT_EQ(found.measures[1].sum.tensor().item(), 1);  // the other is no 4
}

// One leaf and one inner node must follow the equations, unit by unit.
TEST(TreeLstm, ByTheEquations) {
  const auto data = test::tree_data("(4 (1 b) (3 a))\n");
  const auto model =
      model_for("tree-lstm", *data,
                {{"hidden", std::int64_t{2}}, {"embedding", std::int64_t{3}}});
  const auto value = [&](const char* name) {
    return test::numbers(nn::find_parameter(*model, name)->variable.tensor());
  };
  set(*model, "bias", test::pattern({10}));
  set(*model, "leaf.bias", test::pattern({4}));
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto affine = [](const std::vector<double>& x,
                         const std::vector<double>& w,
                         const std::vector<double>& b) {
    std::vector<double> y = b;
    for (std::size_t j = 0; j < b.size(); ++j) {
      for (std::size_t i = 0; i < x.size(); ++i)
        y[j] += x[i] * w[i * b.size() + j];
    }
    return y;
  };
  std::vector<double> h, c;  // of both leaves, one behind the other
  const auto words = value("embedding.weight");
  for (const std::ptrdiff_t word : {2, 1}) {  // b and a: equally often, a first
    const std::vector<double> x(words.begin() + 3 * word,
                                words.begin() + 3 * word + 3);
    const auto y = affine(x, value("leaf.weight"), value("leaf.bias"));
    for (std::size_t i = 0; i < 2; ++i) {
      c.push_back(y[i]);
      h.push_back(sigmoid(y[2 + i]) * std::tanh(y[i]));
    }
  }
  const auto gates = affine(h, value("weight"), value("bias"));
  std::vector<double> root;
  for (std::size_t i = 0; i < 2; ++i) {
    const double cell = sigmoid(gates[i]) * std::tanh(gates[8 + i]) +
                        sigmoid(gates[2 + i]) * c[i] +
                        sigmoid(gates[4 + i]) * c[2 + i];
    root.push_back(sigmoid(gates[6 + i]) * std::tanh(cell));
  }
  const auto expected =
      affine(root, value("classifier.weight"), value("classifier.bias"));
  const auto actual = test::numbers(
      dynamic_cast<nn::Layer&>(*model)(test::tree_batch(*data)[0]).tensor());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6);
}

class TreeModels : public ::testing::TestWithParam<const char*> {
 protected:
  Options options() const {
    Options all{{"hidden", std::int64_t{8}}};
    if (GetParam() == std::string("tree-lstm")) {
      all["embedding"] = std::int64_t{5};
    }
    return all;
  }
};

// The same steps by tagged execution and by recursion under a tape.
TEST_P(TreeModels, StagedTrainingEqualsEager) {
  const auto data = test::tree_data(test::tree_lines(9, 12, 5));
  const auto staged = model_for(GetParam(), *data, options());
  const auto eager = model_for(GetParam(), *data, options());
  const auto optimizer = make_optimizer("sgd", {});
  const auto batch = test::tree_batch(*data);
  test::TrainStep step(*staged, "tree-labels", *optimizer,
                       {batch[0].type(), batch[1].type()});
  for (int t = 0; t < 3; ++t) {
    step.run(batch, 0.1, t);
    Tape tape;
    std::vector<Value> wrt;
    for (const auto& named : eager->parameters()) {
      wrt.push_back(named.parameter->variable.read());
    }
    const Objective found =
        test::objective(*eager, "tree-labels", batch[0], batch[1]);
    const auto gradients = tape.gradient(found.loss, wrt);
    const double loss = found.loss.tensor().item();
    EXPECT_NEAR(loss, step.loss(), 1e-5 * loss);
    EXPECT_EQ(found.measures[1].sum.tensor().item(), step.correct());
    for (std::size_t i = 0; i < wrt.size(); ++i) {
      eager->parameters()[i].parameter->variable.set_tensor(
          (wrt[i] - gradients[i] * 0.1).tensor());
    }
  }
  const auto trained = staged->parameters();
  for (std::size_t i = 0; i < trained.size(); ++i) {
    EXPECT_TRUE(test::near(trained[i].parameter->variable.tensor(),
                           eager->parameters()[i].parameter->variable.tensor(),
                           2e-5))
        << trained[i].name;
  }
}

TEST_P(TreeModels, LearnWhatWordsSay) {
  const auto data = test::tree_data(test::tree_lines(40, 6, 1));
  const auto model = model_for(GetParam(), *data, options());
  const auto optimizer = make_optimizer("adam", {});
  const auto batch = test::tree_batch(*data);
  test::TrainStep step(*model, "tree-labels", *optimizer,
                       {batch[0].type(), batch[1].type()});
  step.run(batch, 0.02, 0);
  const double first = step.loss();
  for (int t = 1; t < 150; ++t) step.run(batch, 0.02, t);
  EXPECT_LT(step.loss(), first / 3);
  EXPECT_GT(step.correct(), 32);

  Step eval = step.cut(StepCut::kEvaluate);
  eval.run(batch);
  Step predict = step.cut(StepCut::kPredict);
  const Tensor probabilities = predict.predict(std::vector{batch[0]}).at(0);
  ASSERT_EQ(probabilities.shape(), (Shape{40, 5}));
  float hits = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const float* row = probabilities.data<float>() + 5 * i;
    const auto best = std::max_element(row, row + 5) - row;
    const auto rows = batch[1].shape()[1];
    hits += best == batch[1].data<std::int32_t>()[i * rows] ? 1.0f : 0.0f;
  }
  EXPECT_EQ(hits, eval.measures().ratios().at(1).sum);
}

// A batch of another size and trees of another shape need no other graph.
TEST_P(TreeModels, TakeSmallerBatches) {
  const auto data = test::tree_data(test::tree_lines(6, 9, 2));
  const auto model = model_for(GetParam(), *data, options());
  const auto batch = test::tree_batch(*data);
  const auto task = make_task("tree-labels");
  Step predict(
      StepDescription(*model, *task,
                      {{"tree", batch[0].type()}, {"label", batch[1].type()}}),
      StepCut::kPredict);
  const Tensor all = predict.predict(std::vector{batch[0]}).at(0);
  for (std::int64_t i = 0; i < 6; ++i) {
    const std::vector one{batch[0].slice(i, i + 1)};
    EXPECT_TRUE(
        test::near(predict.predict(one).at(0), all.slice(i, i + 1), 1e-5));
  }
}

// Options are as a recipe says them: how deep, by whom, and whether together.
TEST_P(TreeModels, PredictAsTheOptionsSay) {
  const auto data = test::tree_data(test::tree_lines(6, 9, 2));
  const auto model = model_for(GetParam(), *data, options());
  const auto batch = test::tree_batch(*data);
  const auto task = make_task("tree-labels");
  const auto step = [&](const TaggedOptions& tagged) {
    return Step(
        StepDescription(*model, *task,
                        {{"tree", batch[0].type()}, {"label", batch[1].type()}},
                        {.tagged = tagged}),
        StepCut::kPredict);
  };
  const std::vector trees{batch[0]};
  test::expect_error(ErrorCode::kExhausted, {"more than 3 activations"},
                     [&] { step({.max_frames = 3}).predict(trees); });
  const auto runs_batched = [&](Batching batching) {
    Step predict = step({.batching = batching});
    predict.predict(trees);
    const auto regions = predict.tagged().profile().regions;
    return std::ranges::any_of(regions, [](const auto& region) {
      return region.instances > region.runs;
    });
  };
  EXPECT_TRUE(runs_batched(Batching::kAlways));
  EXPECT_FALSE(runs_batched(Batching::kNever));
}

TEST_P(TreeModels, TakeTreesOnly) {
  test::expect_error(ErrorCode::kInvalidArgument, {GetParam(), "takes trees"},
                     [&] {
                       build_model(model_registry().get(GetParam()),
                                   {.example = {28, 28, 1}, .classes = 10}, {});
                     });
}

INSTANTIATE_TEST_SUITE_P(All, TreeModels,
                         ::testing::Values("tree-rnn", "tree-lstm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name[4] = '_';
                           return name;
                         });

}  // namespace
}  // namespace weft::tree_test
