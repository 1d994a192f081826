// When things travel: slices, orders, credit, and steps that overlap.
#include "weft/train/sync/order.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/training_runs.h"

#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/credit_queue.h"
#include "weft/comm/transport/delay.h"
#include "weft/comm/transport/sim.h"
#include "weft/nn/nn.h"
#include "weft/train/step/step.h"
#include "weft/train/step/training_task.h"
#include "weft/train/sync/arrivals.h"
#include "weft/train/sync/bucket.h"
#include "weft/train/sync/gather.h"
#include "weft/train/sync/priorities.h"
#include "weft/train/sync/rules.h"
#include "weft/train/sync/slices.h"
#include "weft/train/sync/turns.h"

namespace weft::order_test {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRecipe = R"toml(
[model]
name = "mlp"
hidden = [64, 32]
[data]
name = "digits"
[optimizer]
name = "adam"
lr = 0.003
[train]
epochs = 2
batch = 96
[sync]
policy = "server"
topology = "4@1ms,1MB/s"
bucket_bytes = 2048
[simulate]
network = "4@1ms,1MB/s"
compute = "constant(4ms)"
)toml";

// Neither what is cut, nor what goes first, nor what is waited for changes what
// is added to what.
TEST(Order, ChangesWhenThingsTravelAndNotWhatTheyAre) {
  const test::TrainingRuns runs(kRecipe);
  for (const std::string policy : {"server", "allreduce"}) {
    const std::string by = "sync.policy=" + policy;
    const TrainResult plain = runs.simulate(policy, {by});
    const std::vector<std::vector<std::string>> others{
        {"sync.order=first_use"},
        {"sync.order=random"},
        {"sync.order=last_use", "sync.credit=2048"},
        {"sync.order=tic"},
        {"sync.order=tac"},
        {"sync.order=p3(slice=500)", "sync.bucket_bytes=2048"},
        {"sync.overlap_forward=true"},
        {"sync.overlap_forward=true", "sync.overlap=false",
         "sync.order=first_use"}};
    int number = 0;
    for (std::vector<std::string> other : others) {
      other.push_back(by);
      const std::string name = fmt::format("{}{}", policy, number++);
      const TrainResult result = runs.simulate(name, other);
      EXPECT_EQ(result.train_loss, plain.train_loss) << other[0];
      runs.expect_same_bits(policy, name);
      runs.on_threads(4, "t" + name, other);
      runs.expect_same_bits(policy, "t" + name);
    }
  }
}

// A server adds whole messages in the order of workers, and so slices too.
TEST(Order, SlicesAndCreditChangeNoBit) {
  const test::TrainingRuns runs(kRecipe);
  runs.simulate("whole");
  const std::vector<std::string> all{"sync.slices=true", "sync.order=first_use",
                                     "sync.credit=4096",
                                     "sync.overlap_forward=true"};
  runs.simulate("slices", all);
  runs.expect_same_bits("whole", "slices");
  runs.on_threads(4, "threads", all);
  runs.expect_same_bits("whole", "threads");
}

// Adam's moments are saved as those of whole parameters, whoever goes on.
TEST(Order, SlicesAreGoneOnWithWhole) {
  const test::TrainingRuns runs(kRecipe);
  const std::vector<std::string> cut{"sync.slices=true", "sync.codec=3lc"};
  runs.simulate("cut", cut);
  const SafetensorsFile saved = runs.last("cut");
  for (const auto& entry : saved.entries()) {
    EXPECT_EQ(entry.name.find('['), entry.name.npos) << entry.name;
  }
  runs.simulate("half",
                {"sync.slices=true", "sync.codec=3lc", "train.epochs=1"});
  const TrainResult on = runs.simulate("half", cut, true);
  EXPECT_EQ(on.epochs, 2);
  runs.expect_same_bits("cut", "half");
  runs.simulate("whole",
                {"sync.slices=true", "sync.codec=3lc", "train.epochs=1"});
  EXPECT_EQ(runs.simulate("whole", {"sync.codec=3lc"}, true).epochs, 2);
}

// On a slow network the first layers' parameters, which backward computes last,
// come first where that order is asked for; and the next step begins with them.
TEST(Order, WhatIsUsedFirstSavesTime) {
  const test::TrainingRuns runs(kRecipe);
  const std::vector<std::string> slow{"simulate.compute=constant(40ms)"};
  const auto seconds = [&](const std::string& name,
                           std::vector<std::string> more) {
    more.insert(more.end(), slow.begin(), slow.end());
    return runs.simulate(name, more).seconds;
  };
  const double plain = seconds("plain", {});
  const double forward = seconds("forward", {"sync.overlap_forward=true"});
  const double first =
      seconds("first", {"sync.overlap_forward=true", "sync.slices=true",
                        "sync.order=first_use", "sync.credit=4096"});
  EXPECT_LT(forward, plain);
  EXPECT_LT(first, forward);
}

TEST(Order, GivesEachParameterAPriority) {
  const std::vector<std::int64_t> uses{4, 0, Step::kNeverUsed, 0};
  SyncRecipe recipe;
  EXPECT_THAT(priorities_of(recipe, {.first_uses = uses}),
              ElementsAre(0, 0, 0, 0));
  recipe.order = "first_use";
  // Equals keep their order; what nobody uses is last.
  EXPECT_THAT(priorities_of(recipe, {.first_uses = uses}),
              ElementsAre(2, 4, 1, 3));
  recipe.order = "random";
  std::vector<int> drawn = priorities_of(recipe, {.first_uses = uses});
  EXPECT_EQ(drawn, priorities_of(recipe, {.first_uses = uses}));
  std::ranges::sort(drawn);
  EXPECT_THAT(drawn, ElementsAre(0, 1, 2, 3));
  // Each step has another, which follows from the seed and the step alone.
  std::set<std::vector<int>> orders;
  for (std::int64_t step = 0; step < 200; ++step) {
    orders.insert(priorities_of(recipe, {.first_uses = uses, .step = step}));
  }
  EXPECT_EQ(orders.size(), 24u);  // all there are
  recipe.order = "first_used";
  EXPECT_THAT(message_of([&] { priorities_of(recipe, {.first_uses = uses}); }),
              HasSubstr("did you mean 'first_use'?"));
}

// Workers compute equally long, so that steps under a fixed order differ only
// where all must meet; another order in each step takes other times.
TEST(Order, AtRandomIsAnotherInEachStep) {
  const test::TrainingRuns runs(kRecipe);
  const auto times = [&](const std::string& name, const std::string& order) {
    runs.simulate(name, {"sync.order=" + order, "sync.slices=true",
                         "sync.credit=2048", "sync.overlap_forward=true"});
    std::ifstream file(runs.recipe(name).log.folder + "/traffic.jsonl");
    std::set<std::string> different;
    for (std::string line; std::getline(file, line);) {
      const auto from = line.find("\"seconds\": ");
      different.insert(line.substr(from, line.find(',', from) - from));
    }
    return different;
  };
  const auto random = times("random", "random");
  EXPECT_GT(random.size(), 2 * times("first", "first_use").size());
  EXPECT_EQ(random, times("again", "random"));
}

TEST(Order, IsDrawnByEachRankWhereThereAreServers) {
  SyncRecipe recipe;
  EXPECT_EQ(seed_of_draws(recipe, 7, 0), 7u);
  EXPECT_EQ(seed_of_draws(recipe, 7, 3), 7u);
  recipe.policy = "server";
  std::set<std::uint64_t> seeds;
  for (int rank = 0; rank < 4; ++rank) {
    seeds.insert(seed_of_draws(recipe, 7, rank));
  }
  EXPECT_EQ(seeds.size(), 4u);
}

// What an order sets holds where the recipe says nothing else.
TEST(Order, SetsWhatGoesWithIt) {
  const auto sync_of = [](const std::string& keys) {
    return parse_recipe(
               "[model]\nname = \"mlp\"\n[data]\nname = \"digits\"\n"
               "[optimizer]\nname = \"sgd\"\n[sync]\n" +
                   keys,
               "recipe")
        .sync;
  };
  const SyncRecipe p3 = sync_of("order = \"p3\"");
  EXPECT_TRUE(p3.slices);
  EXPECT_TRUE(p3.overlap_forward);
  EXPECT_EQ(p3.bucket_bytes, 40000);
  EXPECT_EQ(p3.credit, 2560000);
  const SyncRecipe other =
      sync_of("order = \"p3(slice=1000)\"\ncredit = 0\nslices = false");
  EXPECT_FALSE(other.slices);
  EXPECT_EQ(other.bucket_bytes, 4000);
  EXPECT_EQ(other.credit, 0);
  EXPECT_EQ(sync_of("order = \"tic\"").credit, 4 << 18);
  EXPECT_EQ(sync_of("order = \"tic\"\nrule = \"multi_krum(0)\"").credit, 0);
  // Its messages cannot be held back.
  EXPECT_EQ(sync_of("order = \"tic\"\npolicy = \"local_sgd\"").credit, 0);
}

// The first layer has to come before anything can be computed, and then each
// in its turn.
TEST(Order, OfAChainIsThatOfItsLayers) {
  nn::Sequential model{nn::Linear{6, 5}, nn::relu, nn::Linear{5, 4}, nn::relu,
                       nn::Linear{4, 2}};
  model.initialize(1);
  const auto task = make_task("classification");
  const StepDescription description(
      model, *task,
      {{"input", {DType::kF32, {3, 6}}}, {"label", {DType::kI32, {3}}}});
  Step step(description, StepCut::kGradients);
  TransferGraph graph = step.transfers();
  ASSERT_EQ(graph.transfers.size(), 6u);
  const auto names = description.tensors(EntryRole::kParameter);
  for (double& seconds : graph.transfers) seconds = 1;
  for (auto& computation : graph.computations) computation.seconds = 1;
  const auto uses = step.first_uses();
  for (const char* order : {"first_use", "tic", "tac"}) {
    SyncRecipe recipe;
    recipe.order = order;
    const auto priorities =
        priorities_of(recipe, {.first_uses = uses, .graph = graph});
    for (std::size_t a = 0; a < names.size(); ++a) {
      for (std::size_t b = 0; b < names.size(); ++b) {
        // "0.weight" belongs to the first layer.
        if (names[a].name[0] >= names[b].name[0]) continue;
        EXPECT_GT(priorities[a], priorities[b])
            << order << names[a].name << names[b].name;
      }
    }
  }
}

TEST(Order, KnowsWhatAStepUsesFirst) {
  nn::Sequential model{nn::Linear{6, 5}, nn::relu, nn::Linear{5, 2}};
  model.initialize(1);
  const auto task = make_task("classification");
  const StepDescription description(
      model, *task,
      {{"input", {DType::kF32, {3, 6}}}, {"label", {DType::kI32, {3}}}});
  const Step step(description, StepCut::kGradients);
  const auto uses = step.first_uses();
  std::vector<std::string> names;
  for (const NamedTensor& named : description.tensors(EntryRole::kParameter)) {
    names.push_back(named.name);
  }
  ASSERT_EQ(uses.size(), names.size());
  for (std::size_t a = 0; a < uses.size(); ++a) {
    for (std::size_t b = 0; b < uses.size(); ++b) {
      // "0.weight" belongs to the first layer.
      if (names[a][0] >= names[b][0]) continue;
      EXPECT_LT(uses[a], uses[b]);
    }
  }
}

// Each value is in one slice, slices of a parameter are one row of a bucket's
// memory, and joining gives back what was cut.
TEST(Slices, CoverEachValueOnce) {
  constexpr std::int64_t kMost = 64;  // values
  for (const Dim size : {1, 63, 64, 65, 128, 647}) {
    const Tensor values = Tensor::empty({DType::kF32, {size}});
    std::iota(values.data<float>(), values.data<float>() + size, 0.0f);
    const std::vector<NamedTensor> parameters{
        {"a.weight", values}, {"b", Tensor::zeros({DType::kF32, {3, 5}})}};
    const auto slices = cut_into_slices(parameters, kMost * 4);
    EXPECT_EQ(slices.size(),
              static_cast<std::size_t>((size + kMost - 1) / kMost) + 1);
    std::vector<NamedTensor> cut;
    std::vector<NamedTensor> of_optimizer;
    for (const Slice& slice : slices) {
      cut.push_back(slice.values);
      of_optimizer.push_back({"optimizer.first." + slice.values.name,
                              slice.values.tensor.clone()});
    }
    const auto buckets = make_buckets(cut, kMost * 4);
    for (const Bucket& bucket : buckets) {
      for (const BucketMember& member : bucket.members()) {
        bucket.gradient_of(member).copy_from(cut[member.parameter].tensor);
      }
    }
    for (const Bucket& bucket : buckets) {
      for (const BucketMember& member : bucket.members()) {
        const Slice& slice = slices[member.parameter];
        if (slice.parameter != 0 || slice.begin != 0) continue;
        EXPECT_TRUE(identical(bucket.gradient_from(member, {size}), values));
      }
    }
    const auto joined = join_slices(of_optimizer, parameters);
    ASSERT_EQ(joined.size(), 2u);
    EXPECT_EQ(joined[0].name, "optimizer.first.a.weight");
    EXPECT_TRUE(identical(joined[0].tensor, values));
    for (const NamedTensor& named : of_optimizer) {
      const Tensor read = read_slice(named.name, [&](const std::string& name) {
        for (const NamedTensor& whole : joined) {
          if (whole.name == name) return whole.tensor;
        }
        return Tensor();
      });
      EXPECT_TRUE(identical(read, named.tensor)) << named.name;
    }
  }
}

Task<> note_and_add(Channel channel, std::uint32_t number,
                    std::vector<std::uint32_t>& order,
                    std::vector<double>& sum) {
  order.push_back(number);
  co_await sum_over_workers(channel, sum);
}

// Workers come to their buckets in different orders; sums begin in one, by what
// the first worker has and what it finds most urgent.
TEST(Turns, AreTheSameOnAllWorkers) {
  constexpr std::size_t kBuckets = 6;
  constexpr int kRanks = 5;
  for (const std::int64_t credit : {std::int64_t{1}, std::int64_t{400}}) {
    std::vector<std::vector<std::uint32_t>> orders(kRanks);
    SimWorld world(parse_topology("5@10us,1MB/s"));
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      std::vector<int> everyone(kRanks);
      std::iota(everyone.begin(), everyone.end(), 0);
      Communicator sums = all.split(everyone);
      Turns turns(all.split(everyone), kBuckets, credit);
      const auto engine = transport.start_engine({});
      std::vector<NamedTensor> parameters;
      for (std::size_t b = 0; b < kBuckets; ++b) {
        parameters.push_back(
            {fmt::format("p{}", b), Tensor::zeros({DType::kF32, {50}})});
      }
      for (int step = 0; step < 3; ++step) {
        std::vector<Bucket> buckets = make_buckets(parameters, 200);
        ASSERT_EQ(buckets.size(), kBuckets);
        std::vector<std::vector<double>> values;
        for (std::uint32_t b = 0; b < kBuckets; ++b) {
          buckets[b].set_priority(static_cast<int>(b));
          values.push_back({1.0 * transport.rank(), 1.0 * b});
        }
        std::vector<AsyncEngine::Operation> under_way;
        for (std::uint32_t i = 0; i < kBuckets; ++i) {
          const std::uint32_t b =
              (i * (transport.rank() % 2 == 0 ? 1 : 5) +
               static_cast<std::uint32_t>(transport.rank())) %
              kBuckets;
          under_way.push_back(engine->submit([&, b] {
            auto& order = orders[static_cast<std::size_t>(transport.rank())];
            const auto sum = [](Communicator& in, std::uint32_t number,
                                std::vector<std::uint32_t>& noted,
                                std::vector<double>& into) -> Task<> {
              const Channel channel =
                  in.open({"sum", fmt::format("{}", number)});
              co_await note_and_add(channel, number, noted, into);
            };
            return turns.pass(buckets[b], sum(sums, b, order, values[b]));
          }));
        }
        for (const auto& operation : under_way) engine->wait(operation);
        for (std::uint32_t b = 0; b < kBuckets; ++b) {
          EXPECT_EQ(values[b], (std::vector<double>{10, 5.0 * b}));
        }
      }
    });
    for (const auto& order : orders) EXPECT_EQ(order, orders[0]);
    // The first bucket of a step finds nothing under way. Of those that wait
    // the most urgent is next: one at a time.
    if (credit == 1) {
      EXPECT_THAT(std::span(orders[0]).first(kBuckets),
                  ElementsAre(0, 5, 4, 3, 2, 1));
    }
  }
}

Task<> hear(Channel channel, std::span<std::byte> room, int number,
            std::vector<int>& order) {
  Transfer received = channel.receive(0, room);
  co_await received;
  order.push_back(number);
}

// The first ones go as long as there is credit; of those that wait the most
// urgent is next, and of equals the one that was there first.
TEST(CreditQueue, LetsTheMostUrgentGoFirst) {
  const std::vector<int> priorities{0, 1, 3, 2, 3};
  const auto order_of = [&](std::int64_t credit) {
    std::vector<int> order;
    SimWorld world(parse_topology("2@1us,1MB/s"));
    world.run_ranks([&](Transport& transport) {
      Communicator all(transport);
      CreditQueue queue(transport, credit);
      const auto engine = transport.start_engine({});
      std::vector<std::vector<std::byte>> bytes(priorities.size(),
                                                std::vector<std::byte>(1000));
      std::vector<AsyncEngine::Operation> under_way;
      for (std::size_t i = 0; i < priorities.size(); ++i) {
        under_way.push_back(engine->submit([&, i] {
          const Channel channel = all.open({"pass", fmt::format("{}", i)});
          return transport.rank() == 0
                     ? queue.pass(priorities[i], bytes[i].size(),
                                  send_message(channel, 1, bytes[i]))
                     : hear(channel, bytes[i], static_cast<int>(i), order);
        }));
      }
      for (const auto& operation : under_way) engine->wait(operation);
    });
    return order;
  };
  EXPECT_THAT(order_of(0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order_of(1000), ElementsAre(0, 2, 4, 3, 1));
  EXPECT_THAT(order_of(2000), ElementsAre(0, 1, 2, 4, 3));
  // One that is larger than the credit goes alone.
  EXPECT_THAT(order_of(1), ElementsAre(0, 2, 4, 3, 1));
}

// A message has left its card long before it is there.
TEST(CreditQueue, CountsWhatHasNotArrived) {
  constexpr double kLatency = 0.1;
  constexpr double kSending = 1e-3;
  const auto seconds = [&](Receipts receipts) {
    const int sender = 0;
    double moment = 0;
    Bytes bytes(1000);
    SimWorld world(parse_topology("2@100ms,1MB/s"));
    // It outlives the tasks that tell of it.
    std::unique_ptr<Arrivals> arrivals;
    world.run([&](Transport& transport) -> Task<> {
      Communicator all(transport);
      const Channel channel = all.open({"push", "a"});
      if (transport.rank() != sender) {
        arrivals = std::make_unique<Arrivals>(channel, std::span(&sender, 1),
                                              bytes.size(), Quorum(),
                                              Completeness::kWhole, receipts);
        co_await arrivals->enough();
        co_return;
      }
      CreditQueue queue(transport, 1);
      Task<> sending = receipts == Receipts::kGiven
                           ? send_for_receipt(channel, 1, bytes)
                           : send_message(channel, 1, bytes);
      co_await queue.pass(0, bytes.size(), std::move(sending));
      moment = transport.now();
    });
    return moment;
  };
  EXPECT_NEAR(seconds(Receipts::kNone), kSending, 1e-9);
  EXPECT_NEAR(seconds(Receipts::kGiven), kSending + 2 * kLatency, 1e-9);
}

TEST(Delay, EndsWhenItsTimeHasComeAndNotIfItIsGone) {
  SimWorld world(parse_topology("2@1us,1MB/s"));
  world.run_ranks([&](Transport& transport) {
    const auto engine = transport.start_engine({});
    double ended = 0;
    const auto wait = [](Transport& on, double seconds,
                         double& moment) -> Task<> {
      co_await Delay(on, seconds);
      moment = on.now();
    };
    double never = 0;
    {
      Task<> abandoned = wait(transport, 0.01, never);
      abandoned.start();
    }
    engine->wait(engine->submit([&] { return wait(transport, 0.02, ended); }));
    EXPECT_DOUBLE_EQ(ended, 0.02);
    EXPECT_EQ(never, 0);
  });
}

TEST(Order, WhatMakesNoSenseIsRefused) {
  const auto refusal = [](const auto& change, const char* optimizer) {
    SyncRecipe recipe;
    change(recipe);
    return message_of(
        [&] { check_sync(recipe, *make_optimizer(optimizer, {})); });
  };
  EXPECT_THAT(refusal(
                  [](SyncRecipe& r) {
                    r.policy = "local_sgd";
                    r.credit = 4096;
                  },
                  "sgd"),
              HasSubstr("one that is held back could hold up all"));
  EXPECT_THAT(refusal(
                  [](SyncRecipe& r) {
                    r.rule = "multi_krum(f=0)";
                    r.credit = 4096;
                  },
                  "sgd"),
              HasSubstr("it waits until all buckets are measured"));
  EXPECT_THAT(refusal([](SyncRecipe& r) { r.slices = true; }, "lamb"),
              HasSubstr("a slice has not all of them"));
  EXPECT_THAT(refusal(
                  [](SyncRecipe& r) {
                    r.policy = "local_sgd";
                    r.overlap_forward = true;
                  },
                  "sgd"),
              HasSubstr("it changes all parameters together"));
}

}  // namespace
}  // namespace weft::order_test
