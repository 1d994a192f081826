// Rules that look at whole gradients, over a network: whoever holds the
// buckets, what comes out is the same; what cannot go on ends everywhere.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/training_runs.h"

#include "weft/comm/transport/sim.h"
#include "weft/comm/transport/thread.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/worker_group.h"

namespace weft::rule_run_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr int kWorkers = 7;
constexpr std::int64_t kSizes[] = {37, 5, 64};

struct Training {
  std::string policy = "server";
  std::string rule = "multi_krum(2)";
  std::string collective = "auto";
  int servers = 0;
  std::int64_t bucket_bytes = 160;  // a bucket for each parameter
  int steps = 3;
  // What a worker's gradient is, in step and place.
  float (*gradient)(int rank, int step, std::size_t i) = nullptr;
  double (*share)(int rank) = [](int) { return 1.0 / kWorkers; };
};

// Two of them lie.
float with_liars(int rank, int step, std::size_t i) {
  if (rank == 2) return 100;
  if (rank == 5) return i % 3 == 0 ? 1e30f : -7;
  const RandomStream random{4, static_cast<std::uint32_t>(rank),
                            static_cast<std::uint32_t>(step)};
  return (1 + 0.2f * uniform_from(random.word(i))) / kWorkers;
}

// The parameters after some steps, by rank; each works as a policy's owner
// would have it.
std::vector<std::vector<float>> train(Training setup,
                                      bool is_simulated = false) {
  if (setup.gradient == nullptr) setup.gradient = with_liars;
  const int ranks = kWorkers + setup.servers;
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(ranks));
  const auto run = [&](Transport& transport) {
    WorkerGroup group(transport, 20);
    std::vector<NamedTensor> trainable;
    for (const std::int64_t size : kSizes) {
      trainable.push_back({fmt::format("w{}", trainable.size()),
                           Tensor::zeros({DType::kF32, {size}})});
    }
    std::vector<Bucket> buckets = make_buckets(trainable, setup.bucket_bytes);
    const auto optimizer = make_optimizer("sgd", {});
    SyncRecipe recipe;
    recipe.policy = setup.policy;
    recipe.rule = setup.rule;
    recipe.collective = setup.collective;
    recipe.servers = setup.servers;
    const Call<SyncPolicyDef> call = policy_of(recipe);
    const Roles roles(ranks, setup.servers);
    const auto policy =
        call.def->make(call.options, {.communicator = group.communicator(),
                                      .network = group.network(),
                                      .recipe = recipe,
                                      .optimizer = *optimizer,
                                      .roles = roles,
                                      .trainable = trainable,
                                      .buckets = buckets});
    // As a trainer does: what is under way ends before what it works on.
    try {
      for (int s = 0; s < setup.steps; ++s) {
        const bool is_worker = roles.is_worker(group.rank());
        const SyncStep step{
            .number = s,
            .lr = 0.5,
            .examples = is_worker ? 1 : 0,
            .share = is_worker ? setup.share(group.rank()) : 0.0};
        std::vector<AsyncEngine::Operation> exchanges;
        std::size_t place = 0;
        for (Bucket& bucket : buckets) {
          for (float& value : bucket.gradient()) {
            value = is_worker ? setup.gradient(group.rank(), s, place) : 0.0f;
            ++place;
          }
          exchanges.push_back(group.network().submit(
              [&, step] { return policy->exchange(bucket, step); }));
        }
        for (const auto& exchange : exchanges) group.network().wait(exchange);
        for (Bucket& bucket : buckets) policy->apply(bucket, step);
        policy->end_step(step);
      }
    } catch (const Error& error) {
      group.network().fail(error);
      throw;
    }
    auto& own = parameters[static_cast<std::size_t>(group.rank())];
    for (const NamedTensor& named : trainable) {
      const auto values = named.tensor.span<float>();
      own.insert(own.end(), values.begin(), values.end());
    }
  };
  if (is_simulated) {
    SimWorld world(parse_topology(fmt::format("{}@1us,1GB/s", ranks)));
    world.run_ranks(run);
  } else {
    ThreadWorld(ranks).run(run);
  }
  parameters.resize(kWorkers);
  return parameters;
}

// Whoever owns how many buckets, over whatever network.
TEST(RuleRun, IsTheSameByAnyNumberOfServers) {
  for (const char* rule : {"krum(2)", "multi_krum(2)", "bulyan(1)", "median"}) {
    Training setup{.rule = rule};
    if (setup.rule == "bulyan(1)") {
      setup.gradient = [](int rank, int step, std::size_t i) {
        return rank == 5 ? with_liars(0, step, i) : with_liars(rank, step, i);
      };
    }
    const auto shared = train(setup);
    for (const auto& copy : shared) EXPECT_EQ(copy, shared[0]) << rule;
    for (const float value : shared[0]) {
      // Three steps by half of what right workers say.
      EXPECT_LE(value, -1.5f) << rule;
      EXPECT_GE(value, -1.8f) << rule;
    }
    EXPECT_EQ(train(setup, true), shared) << rule;
    for (const int servers : {1, 2, 5}) {
      setup.servers = servers;
      EXPECT_EQ(train(setup), shared) << rule << " by " << servers;
    }
    setup.servers = 0;
    setup.policy = "allreduce";
    const auto gathered = train(setup);
    for (std::size_t i = 0; i < shared[0].size(); ++i) {
      EXPECT_NEAR(gathered[3][i], shared[0][i], 1e-5) << rule;
    }
  }
}

// Where nobody lies, rules with a memory are the mean.
TEST(RuleRun, WhoFindsNobodyChangesNoBit) {
  Training setup{.rule = "mean",
                 .gradient = [](int rank, int step, std::size_t i) {
                   return with_liars(rank % 2, step, i);
                 }};
  for (const char* policy : {"server", "allreduce"}) {
    setup.policy = policy;
    setup.rule = "mean";
    setup.collective = policy == std::string("server") ? "auto" : "all_gather";
    const auto mean = train(setup);
    for (const char* rule :
         {"byzantine_sgd(v=5, d=100)",
          "safeguard(threshold=5, long_threshold=5)", "multi_krum(f=0, m=7)"}) {
      setup.rule = rule;
      EXPECT_EQ(train(setup), mean) << policy << rule;
    }
  }
}

// What a rule draws in one bucket says nothing of another.
TEST(RuleRun, DrawsOtherNoiseInEachBucket) {
  Training setup{.rule = "safeguard(noise=0.5)",
                 .steps = 1,
                 .gradient = [](int, int, std::size_t) { return 1.0f; }};
  for (const char* policy : {"server", "allreduce"}) {
    setup.policy = policy;
    setup.collective = policy == std::string("server") ? "auto" : "all_gather";
    const std::vector<float> moved = train(setup)[0];
    const auto first = moved.begin();
    const auto third = first + kSizes[0] + kSizes[1];
    EXPECT_FALSE(std::equal(first, first + kSizes[0], third)) << policy;
  }
}

// A worker that lies in one bucket alone is out of all of them.
TEST(RuleRun, LooksAtWholeGradients) {
  const Training setup{.rule = "multi_krum(2)",
                       .steps = 1,
                       .gradient = [](int rank, int, std::size_t i) {
                         if (rank == 6 && i < 40) return 50.0f;
                         return (rank == 6 ? 2.0f : 1.0f) / kWorkers;
                       }};
  // With the sixth in, the mean of the other buckets would be more than 1.
  const auto trained = train(setup);
  for (const float value : trained[0]) EXPECT_FLOAT_EQ(value, -0.5f);
}

// A worker with half a share sends half a gradient, and is no liar.
TEST(RuleRun, CountsWorkersTheSameWhateverTheirShares) {
  const Training setup{
      .rule = "krum(2)",
      .steps = 1,
      .gradient =
          [](int rank, int, std::size_t) {
            return rank == 0 ? 0.5f / kWorkers : 1.0f / kWorkers;
          },
      .share = [](int rank) { return (rank == 0 ? 0.5 : 1.0) / kWorkers; }};
  // The first is taken where all are equal.
  for (const char* policy : {"server", "allreduce"}) {
    Training each = setup;
    each.policy = policy;
    const auto trained = train(each);
    for (const float value : trained[0]) EXPECT_FLOAT_EQ(value, -0.5f);
  }
}

TEST(RuleRun, TooFewContributionsEndTheRunEverywhere) {
  for (const char* policy : {"server", "allreduce"}) {
    for (const char* rule : {"krum(2)", "trimmed_mean(3)"}) {
      const Training setup{
          .policy = policy, .rule = rule, .steps = 1, .share = [](int rank) {
            return rank < 6 ? 1.0 / 6 : 0.0;
          }};
      EXPECT_THAT(message_of([&] { train(setup); }),
                  ::testing::AnyOf(HasSubstr("gradients of 6 workers"),
                                   HasSubstr("declines 6 workers")))
          << policy << rule;
    }
  }
}

// --- In training
// ---------------------------------------------------------------

test::TrainingRuns digits() {
  return test::TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.05
[train]
epochs = 3
batch = 70
[sync]
policy = "server"
rule = "multi_krum(2)"
topology = "7@1us,1GB/s"
bucket_bytes = 2048
[simulate]
network = "7@1us,1GB/s"
compute = "constant(1ms)"
)toml");
}

TEST(RuleRun, TrainsTheSameOnThreads) {
  const auto runs = digits();
  const TrainResult simulated = runs.simulate("simulated");
  EXPECT_GT(simulated.test.get("accuracy"), 0.8);
  runs.on_threads(7, "threads");
  runs.expect_same_bits("simulated", "threads");
}

TEST(RuleRun, IsContentWithAQuorumThatBearsF) {
  const auto runs = digits();
  const std::vector<std::string> some{
      "sync.policy=server(quorum=7, deadline=1s)", "sync.servers=2",
      "simulate.network=\"10@1us,1GB/s\"", "sync.topology=\"10@1us,1GB/s\"",
      "train.batch=80"};
  EXPECT_GT(runs.simulate("quorum", some).test.get("accuracy"), 0.8);
}

}  // namespace
}  // namespace weft::rule_run_test
