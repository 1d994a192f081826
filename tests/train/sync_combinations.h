// What [sync] may say, in all its combinations: policies, rules, codecs and
// collectives, as their registries list them. Each is refused with its reason
// or trains some steps.
#pragma once

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <span>

#include "weft/base/parallel.h"
#include "weft/comm/transport/sim.h"
#include "weft/nn/nn.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/order.h"
#include "weft/train/sync/rules.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::sync_combinations {

inline constexpr int kWorkers = 4;
inline constexpr std::int64_t kExamples = 4;  // of each worker
inline constexpr int kSteps = 3;

inline Batch batch_of(int rank, int step) {
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
inline void train(const SyncRecipe& recipe) {
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
    const Roles roles(kWorkers, recipe.servers);
    for (int i = 0; i < kSteps; ++i) {
      const bool is_last = i + 1 == kSteps;
      Batch batch = batch_of(group.rank(), i);
      batch.whole_size = kExamples * roles.workers();
      // A rank that only serves gets no example.
      if (!roles.is_worker(group.rank())) batch.size = 0;
      const WorkerTotals totals =
          worker.run(batch, {.number = i, .lr = 0.1, .must_meet = is_last});
      if (!is_last) continue;
      ASSERT_TRUE(totals.have_met);
      EXPECT_TRUE(std::isfinite(totals.sums.loss()));
    }
    if (!roles.is_worker(group.rank())) return;
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

// A rule that bears wrong workers by default wants more than there are here.
inline std::string rule_text(const AggregationRuleDef& def) {
  const auto wrong = std::ranges::find(def.options, "f", &OptionSpec::name);
  return def.name + (wrong == def.options.end() ? "" : "(f=0)");
}

// Policies, and those that may go on without all as they do then.
inline std::vector<std::string> policies() {
  std::vector<std::string> result;
  for (const SyncPolicyDef& def : sync_policy_registry().all()) {
    result.push_back(def.name);
    if (std::ranges::find(def.options, "quorum", &OptionSpec::name) !=
        def.options.end()) {
      result.push_back(def.name + "(quorum=2)");
    }
  }
  return result;
}

// Pipelines that stand for the kinds of codecs there are, and each sparsifier.
inline std::vector<std::pair<std::string, std::string>> codecs() {
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

// Whether the recipe is refused, with the reason.
inline bool is_refused(const SyncRecipe& recipe) {
  try {
    check_sync(recipe, *make_optimizer("sgd", {}));
    check_ranks(recipe, kWorkers);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("because"), std::string::npos)
        << error.what();
    return true;
  }
}

// The pairs of what were together in a run.
class Pairs {
 public:
  // Whether one of them is new.
  bool add(std::span<const std::string> parts) {
    const std::size_t before = seen_.size();
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) seen_.emplace(parts[j], parts[i]);
    return seen_.size() > before;
  }

 private:
  std::set<std::pair<std::string, std::string>> seen_;
};

inline SyncRecipe small_recipe() {
  SyncRecipe recipe;
  recipe.topology = "4@1us,1GB/s";
  recipe.bucket_bytes = 256;
  recipe.min_elements = 0;
  return recipe;
}

// This says which of them are run.
enum class Run {
  kAll,
  kNewPairs,  // until each pair of two kinds has been together
};

inline void run_or_refuse(Run which) {
  set_thread_count(1);
  std::set<std::string> run;  // all that was
  Pairs pairs;
  int refused = 0;
  const std::vector<std::string> orders = names(sync_order_registry());
  std::size_t number = 0;
  for (const std::string& policy : policies()) {
    for (const AggregationRuleDef& rule : aggregation_rule_registry().all()) {
      for (const std::string& collective : names(collective_registry())) {
        for (const auto& [sparsify, codec] : codecs()) {
          SyncRecipe recipe = small_recipe();
          recipe.policy = policy;
          // Orders take turns, which pairs each with everything that travels.
          if (!policy_of(recipe).def->shares_model) {
            recipe.order = orders[number++ % orders.size()];
          }
          recipe.rule = rule_text(rule);
          recipe.collective = collective;
          recipe.sparsify = sparsify;
          recipe.codec = codec;
          SCOPED_TRACE(fmt::format("{} {} {} {} {}", policy, rule.name,
                                   collective, sparsify, codec));
          if (is_refused(recipe)) {
            ++refused;
            continue;
          }
          const std::array<std::string, 6> parts = {
              "policy " + policy,         "rule " + rule.name,
              "collective " + collective, "codec " + codec,
              "sparsifier " + sparsify,   "order " + recipe.order};
          if (!pairs.add(parts) && which == Run::kNewPairs) continue;
          train(recipe);
          run.insert(parts.begin(), parts.end());
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

}  // namespace weft::sync_combinations
