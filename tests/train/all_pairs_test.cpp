// Every combination of what [sync] may say is run or refused: policies, rules,
// codecs and collectives, as their registries list them.
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "weft/base/parallel.h"
#include "weft/comm/transport/sim.h"
#include "weft/nn/nn.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rules.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::all_pairs_test {
namespace {

constexpr int kWorkers = 4;
constexpr std::int64_t kExamples = 4;  // of each worker
constexpr int kSteps = 3;

Batch batch_of(int rank, int step) {
  Batch batch;
  batch.size = kExamples;
  batch.whole_size = kExamples * kWorkers;
  const Tensor input = Tensor::empty({DType::kF32, {kExamples, 12}});
  const RandomStream random{.seed = 9,
                            .stream = static_cast<std::uint32_t>(rank),
                            .step = static_cast<std::uint32_t>(step)};
  for (std::int64_t i = 0; i < input.size(); ++i) {
    input.data<float>()[i] =
        uniform_from(random.word(static_cast<std::uint64_t>(i))) - 0.5f;
  }
  batch.tensors = {input, Tensor::of<std::int32_t>({kExamples}, {0, 1, 1, 0})};
  return batch;
}

// Trains some steps on a simulated network. All copies must be equal then.
void train(const SyncRecipe& recipe) {
  std::vector<std::vector<Tensor>> copies(kWorkers);
  SimWorld world(parse_topology("4@1us,1GB/s"));
  world.run_ranks([&](Transport& transport) {
    nn::Sequential model{nn::Linear{12, 8}, nn::relu, nn::Linear{8, 2}};
    model.initialize(3);
    const auto task = make_task("classification");
    const StepDescription step(model, *task,
                               {{"input", {DType::kF32, {kExamples, 12}}},
                                {"label", {DType::kI32, {kExamples}}}});
    const auto optimizer = make_optimizer("sgd", {});
    WorkerGroup group(transport, recipe.timeout);
    SyncedWorker worker(step, *optimizer, recipe, group);
    for (int i = 0; i < kSteps; ++i) {
      const bool is_last = i + 1 == kSteps;
      const WorkerTotals totals =
          worker.run(batch_of(group.rank(), i),
                     {.number = i, .lr = 0.1, .must_meet = is_last});
      if (!is_last) continue;
      ASSERT_TRUE(totals.have_met);
      EXPECT_TRUE(std::isfinite(totals.sums.loss()));
    }
    for (const NamedTensor& named : step.tensors(EntryRole::kParameter)) {
      copies[static_cast<std::size_t>(group.rank())].push_back(
          named.tensor.clone());
    }
  });
  for (const auto& copy : copies) {
    for (std::size_t p = 0; p < copy.size(); ++p) {
      EXPECT_TRUE(identical(copy[p], copies[0][p]));
    }
  }
}

std::vector<std::string> names(const auto& registry) {
  std::vector<std::string> result;
  for (const auto& def : registry.all()) result.push_back(def.name);
  return result;
}

// Pipelines that stand for the kinds of codecs there are, and each sparsifier.
std::vector<std::pair<std::string, std::string>> codecs() {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& name : names(value_codec_registry())) {
    result.emplace_back("none", name);
  }
  for (const std::string& name : names(sparsifier_registry())) {
    result.emplace_back(name, "none");
  }
  for (const std::string& name : names(index_codec_registry())) {
    result.emplace_back("topk(0.2)", "index:" + name);
  }
  for (const std::string& name : names(byte_codec_registry())) {
    result.emplace_back("none", name);
  }
  return result;
}

TEST(AllPairs, AreRunOrRefused) {
  set_thread_count(1);
  std::set<std::string> run;  // policies, rules and collectives that were
  int refused = 0;
  for (const std::string& policy : names(sync_policy_registry())) {
    for (const std::string& rule : names(aggregation_rule_registry())) {
      for (const std::string& collective : names(collective_registry())) {
        for (const auto& [sparsify, codec] : codecs()) {
          SyncRecipe recipe;
          recipe.policy = policy;
          recipe.rule = rule;
          recipe.collective = collective;
          recipe.sparsify = sparsify;
          recipe.codec = codec;
          recipe.topology = "4@1us,1GB/s";
          recipe.bucket_bytes = 256;
          recipe.min_elements = 0;
          SCOPED_TRACE(fmt::format("{} {} {} {} {}", policy, rule, collective,
                                   sparsify, codec));
          try {
            check_sync(recipe, *make_optimizer("sgd", {}));
            check_ranks(recipe, kWorkers);
          } catch (const Error& error) {
            // What is refused says why.
            EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
            EXPECT_NE(std::string(error.what()).find("because"),
                      std::string::npos)
                << error.what();
            ++refused;
            continue;
          }
          train(recipe);
          run.insert({"policy " + policy, "rule " + rule,
                      "collective " + collective, "codec " + codec,
                      "sparsifier " + sparsify});
        }
      }
    }
  }
  EXPECT_GT(refused, 0);
  // Each of them is good for something.
  const auto expect_run = [&](const char* kind, const auto& registry) {
    for (const std::string& name : names(registry)) {
      EXPECT_TRUE(run.contains(fmt::format("{} {}", kind, name)))
          << kind << " " << name;
    }
  };
  expect_run("policy", sync_policy_registry());
  expect_run("rule", aggregation_rule_registry());
  expect_run("collective", collective_registry());
  expect_run("sparsifier", sparsifier_registry());
}

}  // namespace
}  // namespace weft::all_pairs_test
