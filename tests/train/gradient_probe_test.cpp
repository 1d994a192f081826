// Gradients that are shown are those that a step takes, and looking at them
// changes nothing.
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/nn/nn.h"
#include "weft/train/step/single_worker.h"

namespace weft::gradient_probe_test {
namespace {

constexpr double kRate = 0.25;

// What a run changes is all here: statistics, what dropout draws by, weights.
nn::Sequential small_model() {
  nn::Sequential model{
      nn::Conv2d{1, 4, 3}, nn::BatchNorm{4}, nn::relu,
      nn::Dropout{0.5},    nn::Flatten{},    nn::Linear{64, 3}};
  model.initialize(5);
  return model;
}

struct Training {
  nn::Sequential model = small_model();
  std::unique_ptr<Optimizer> optimizer = make_optimizer("sgd", {});
  std::unique_ptr<TrainingTask> task = make_task("classification");
  Batch batch{.tensors = {test::pattern({6, 4, 4, 1}),
                          Tensor::of<std::int32_t>({6}, {0, 1, 2, 0, 1, 2})},
              .size = 6,
              .position = {}};
  StepDescription description{
      model,
      *task,
      {{"input", batch.tensors[0].type()}, {"label", batch.tensors[1].type()}},
      {},
      optimizer.get()};
  SingleWorker worker{description};
};

std::vector<Tensor> copies_of(const std::vector<NamedTensor>& tensors) {
  std::vector<Tensor> copies;
  for (const NamedTensor& each : tensors) copies.push_back(each.tensor.clone());
  return copies;
}

TEST(GradientProbe, ShowsWhatTheStepTakes) {
  Training seen;
  const auto parameters = seen.description.tensors(EntryRole::kParameter);
  for (std::int64_t i = 0; i < 3; ++i) {
    const WorkerStep step{.number = i, .lr = kRate};
    const auto gradients = seen.worker.gradients(seen.batch, step);
    const std::vector<Tensor> before = copies_of(parameters);
    seen.worker.run(seen.batch, step);
    ASSERT_EQ(gradients.size(), parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      EXPECT_EQ(gradients[p].name, parameters[p].name);
      double length = 0;
      for (std::int64_t k = 0; k < before[p].size(); ++k) {
        const double slope = gradients[p].tensor.item(k);
        length += slope * slope;
        EXPECT_NEAR(parameters[p].tensor.item(k),
                    before[p].item(k) - kRate * slope, 1e-5)
            << parameters[p].name;
      }
      // A convolution's bias has no slope before a batch norm.
      if (parameters[p].name.ends_with("weight")) {
        EXPECT_GT(length, 0);
      }
    }
  }
}

// A step that clips takes a part of what is shown.
TEST(GradientProbe, ShowsWhatIsNotClippedYet) {
  Training seen;
  StepOptions options = seen.description.options();
  options.clip_norm = 1e-3;
  SingleWorker clipping(seen.description.with_options(options));
  const WorkerStep step{.lr = kRate};
  const auto shown = copies_of(clipping.gradients(seen.batch, step));
  const auto whole = seen.worker.gradients(seen.batch, step);
  for (std::size_t p = 0; p < whole.size(); ++p) {
    EXPECT_TRUE(identical(shown[p], whole[p].tensor)) << whole[p].name;
  }
}

TEST(GradientProbe, ChangesNoBit) {
  Training seen, unseen;
  for (std::int64_t i = 0; i < 3; ++i) {
    const WorkerStep step{.number = i, .lr = kRate};
    seen.worker.gradients(seen.batch, step);
    const double loss = seen.worker.run(seen.batch, step).sums.loss();
    EXPECT_EQ(loss, unseen.worker.run(unseen.batch, step).sums.loss());
  }
  const auto found = seen.worker.state();
  const auto expected = unseen.worker.state();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(identical(found[i].tensor, expected[i].tensor))
        << expected[i].name;
  }
}

}  // namespace
}  // namespace weft::gradient_probe_test
