#include "weft/train/sync/aggregation_rule.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/errors.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/nn/nn.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rules.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::aggregation_rule_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

SyncRecipe recipe_of(const std::string& rule) {
  SyncRecipe recipe;
  recipe.rule = rule;
  return recipe;
}

// What stands for the mean of all.
std::vector<float> combined(const std::string& rule,
                            const std::vector<std::vector<float>>& values) {
  const auto made =
      make_rule(recipe_of(rule), {.workers = static_cast<int>(values.size())});
  std::vector<Contribution> arrived;
  for (std::size_t i = 0; i < values.size(); ++i) {
    arrived.push_back({static_cast<int>(i), values[i]});
  }
  std::vector<float> result(values[0].size());
  made->combine({.arrived = arrived}, result);
  for (float& value : result) value /= static_cast<float>(values.size());
  return result;
}

TEST(AggregationRule, SmallCases) {
  const std::vector<std::vector<float>> values{
      {1, 5, -2}, {2, 5, 7}, {9, 5, 0}, {4, 5, 3}};
  using Floats = std::vector<float>;
  EXPECT_EQ(combined("trimmed_mean(1)", values), (Floats{3, 5, 1.5}));
  // The upper one is in the middle of an even number.
  EXPECT_EQ(combined("median", values), (Floats{4, 5, 3}));
  EXPECT_EQ(combined("median", {{1}, {100}, {3}}), (Floats{3}));
  EXPECT_EQ(combined("median", {{7}}), (Floats{7}));
}

// So many workers may say what they like: the result lies among the others'.
TEST(AggregationRule, WrongWorkersMoveNothingBeyondTheRest) {
  const std::vector<std::vector<float>> right{
      {1, -1}, {1.5, -2}, {2, -3}, {1.2f, -1.1f}};
  for (const float lie : {1e30f, -1e30f, kInfinity, -kInfinity, kNan}) {
    for (const char* rule : {"trimmed_mean(2)", "median"}) {
      auto values = right;
      values.push_back({lie, -lie});
      values.push_back({lie, lie});
      const std::vector<float> result = combined(rule, values);
      EXPECT_GE(result[0], 1) << rule << lie;
      EXPECT_LE(result[0], 2) << rule << lie;
      EXPECT_GE(result[1], -3) << rule << lie;
      EXPECT_LE(result[1], -1) << rule << lie;
    }
    auto values = right;
    values.push_back({lie, lie});
    values.push_back({lie, lie});
    // One too many is seen, and not hidden.
    const float moved = combined("trimmed_mean(1)", values)[0];
    EXPECT_FALSE(moved >= 1 && moved <= 2) << lie;
  }
}

TEST(AggregationRule, DoesNotDependOnTheOrderOfWorkers) {
  const std::vector<std::vector<float>> values{{3}, {0.1f}, {0.7f}, {9}, {2}};
  auto turned = values;
  std::ranges::reverse(turned);
  for (const char* rule : {"trimmed_mean(1)", "median"}) {
    EXPECT_EQ(combined(rule, values), combined(rule, turned)) << rule;
  }
}

TEST(AggregationRule, StandsWhereContributionsAreByThemselves) {
  const auto refusal = [](const char* rule, const char* policy,
                          const char* collective) {
    SyncRecipe recipe = recipe_of(rule);
    recipe.policy = policy;
    recipe.collective = collective;
    return message_of([&] { check_sync(recipe, *make_optimizer("sgd", {})); });
  };
  constexpr const char* kFine = "nothing was thrown";
  EXPECT_EQ(refusal("median", "allreduce", "all_gather"), kFine);
  // "auto" finds the one that can.
  EXPECT_EQ(refusal("median", "allreduce", "auto"), kFine);
  EXPECT_EQ(refusal("median", "local_sgd", "auto"), kFine);
  EXPECT_EQ(refusal("median", "server", "auto"), kFine);
  EXPECT_THAT(refusal("median", "allreduce", "ring"),
              HasSubstr("'ring' declines rule 'median', because it adds"));
  EXPECT_THAT(refusal("medien", "server", "auto"),
              HasSubstr("did you mean 'median'?"));
  EXPECT_THAT(message_of([] { check_ranks(recipe_of("trimmed_mean(2)"), 4); }),
              HasSubstr("'trimmed_mean(2)' declines 4 workers, because without "
                        "the 2 smallest and the 2 largest values nothing"));
}

// --- In training -----------------------------------------------------------

constexpr int kWorkers = 5;

// A separable problem; the last worker's labels are all wrong, and its inputs a
// thousand times too large.
Batch batch_of(int rank, int step) {
  constexpr std::int64_t kExamples = 8;
  Batch batch;
  batch.size = kExamples;
  batch.whole_size = kExamples * kWorkers;
  const bool is_wrong = rank == kWorkers - 1;
  const Tensor input = Tensor::empty({DType::kF32, {kExamples, 4}});
  const Tensor label = Tensor::empty({DType::kI32, {kExamples}});
  const RandomStream random{.seed = 5,
                            .stream = static_cast<std::uint32_t>(rank),
                            .step = static_cast<std::uint32_t>(step)};
  for (std::int64_t i = 0; i < input.size(); ++i) {
    const float value =
        uniform_from(random.word(static_cast<std::uint64_t>(i))) - 0.5f;
    input.data<float>()[i] = is_wrong ? 1000 * value : value;
  }
  for (std::int64_t i = 0; i < kExamples; ++i) {
    const bool is_one = input.data<float>()[4 * i] > 0;
    label.data<std::int32_t>()[i] = is_one != is_wrong ? 1 : 0;
  }
  batch.tensors = {input, label};
  return batch;
}

// The loss of the first worker, whose data are right, after training.
double loss_of(const std::string& rule, const std::string& policy) {
  double loss = 0;
  ThreadWorld(kWorkers).run([&](Transport& transport) {
    set_thread_count(1);
    nn::Sequential model{nn::Linear{4, 2}};
    model.initialize(3);
    const auto task = make_task("classification");
    const StepDescription step(
        model, *task,
        {{"input", {DType::kF32, {8, 4}}}, {"label", {DType::kI32, {8}}}});
    SyncRecipe recipe = recipe_of(rule);
    recipe.policy = policy;
    recipe.topology = "5@1us,1GB/s";
    const auto optimizer = make_optimizer("sgd", {});
    WorkerGroup group(transport, 20);
    SyncedWorker worker(step, *optimizer, recipe, group);
    for (int i = 0; i < 60; ++i) {
      worker.run(batch_of(group.rank(), i), {.number = i, .lr = 2});
    }
    if (!group.is_first()) return;
    Step measure(step, StepCut::kEvaluate);
    measure.run(batch_of(0, 1000).tensors);
    loss = measure.loss();
  });
  return loss;
}

TEST(AggregationRule, OneWrongWorkerSpoilsTheMeanAlone) {
  for (const char* policy : {"allreduce", "server", "local_sgd(2)"}) {
    EXPECT_GT(loss_of("mean", policy), 1) << policy;
    EXPECT_LT(loss_of("trimmed_mean(1)", policy), 0.5) << policy;
    EXPECT_LT(loss_of("median", policy), 0.5) << policy;
  }
}

}  // namespace
}  // namespace weft::aggregation_rule_test
