// What local steps cost on a convex problem whose curvature is the same for all
// workers: nothing. Gradients are linear in the parameters there, so that the
// mean of the copies moves as one model of the whole batch does, whatever the
// period is; what the bound of Wang and Joshi (2019, theorem 1) adds for long
// periods is for functions that are not quadratic.
#include <cmath>
#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/philox.h"
#include "weft/comm/transport/sim.h"
#include "weft/nn/nn.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::local_steps_convex_test {
namespace {

constexpr int kWorkers = 4;
constexpr std::int64_t kExamples = 8;  // of each worker
constexpr std::int64_t kInputs = 3;
constexpr int kSteps = 24;

// Inputs are the same for all workers and steps; targets are noise.
Batch batch_of(int rank, int step) {
  const Tensor input = Tensor::empty({DType::kF32, {kExamples, kInputs}});
  const Tensor target = Tensor::empty({DType::kF32, {kExamples}});
  const auto fill = [](const Tensor& tensor, const RandomStream& random) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.data<float>()[i] =
          uniform_from(random.word(static_cast<std::uint64_t>(i))) - 0.5f;
    }
  };
  fill(input, {.seed = 5, .stream = 100, .step = 0});
  fill(target, {.seed = 5,
                .stream = static_cast<std::uint32_t>(rank),
                .step = static_cast<std::uint32_t>(step)});
  Batch batch;
  batch.size = kExamples;
  batch.whole_size = kExamples * kWorkers;
  batch.tensors = {input, target};
  return batch;
}

// The parameters after steps of SGD.
std::vector<float> trained(const std::string& policy) {
  set_thread_count(1);
  std::vector<float> result;
  SimWorld world(parse_topology("4@1us,1GB/s"));
  world.run_ranks([&](Transport& transport) {
    nn::Sequential model{nn::Linear{kInputs, 1}};
    model.initialize(3);
    const auto task = make_task("regression");
    const StepDescription step(model, *task,
                               {{"input", {DType::kF32, {kExamples, kInputs}}},
                                {"target", {DType::kF32, {kExamples}}}});
    const auto optimizer = make_optimizer("sgd", {});
    SyncRecipe recipe;
    recipe.policy = policy;
    recipe.topology = "4@1us,1GB/s";
    WorkerGroup group(transport, recipe.timeout);
    SyncedWorker worker(step, *optimizer, recipe, group);
    for (int i = 0; i < kSteps; ++i) {
      worker.run(batch_of(group.rank(), i),
                 {.number = i, .lr = 0.3, .must_meet = i + 1 == kSteps});
    }
    if (group.rank() != 0) return;
    for (const NamedTensor& named : step.tensors(EntryRole::kParameter)) {
      const auto values = named.tensor.span<float>();
      result.insert(result.end(), values.begin(), values.end());
    }
  });
  return result;
}

TEST(LocalSteps, OfEqualCurvatureMoveAsOneModel) {
  const std::vector<float> together = trained("allreduce");
  ASSERT_EQ(together.size(), static_cast<std::size_t>(kInputs + 1));
  for (const char* policy :
       {"local_sgd(period=1)", "local_sgd(period=8)", "local_sgd(period=24)",
        "adacomm(tau0=12, interval=12it)"}) {
    const std::vector<float> apart = trained(policy);
    ASSERT_EQ(apart.size(), together.size()) << policy;
    for (std::size_t i = 0; i < apart.size(); ++i) {
      EXPECT_NEAR(apart[i], together[i], 2e-6) << policy;
    }
  }
}

}  // namespace
}  // namespace weft::local_steps_convex_test
