// Servers on ranks of their own, and servers that do not wait for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/training_runs.h"

#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rules.h"

namespace weft::servers_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

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
batch = 96
[sync]
policy = "server"
topology = "4@1us,1GB/s"
bucket_bytes = 2048
[simulate]
network = "4@1us,1GB/s"
compute = "constant(1ms)"
)toml");
}

const std::vector<std::string> kSix{"simulate.network=\"6@1us,1GB/s\"",
                                    "sync.topology=\"6@1us,1GB/s\"",
                                    "sync.servers=2"};

std::vector<std::string> with(std::vector<std::string> some,
                              const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

// Whoever holds the parameters adds the same gradients in the same order.
TEST(Servers, OfTheirOwnTrainWhatSharedOnesDo) {
  const auto runs = digits();
  for (const std::string codec : {"none", "3lc", "bf16"}) {
    const std::vector<std::string> same{"sync.codec=" + codec};
    const TrainResult shared = runs.simulate("shared" + codec, same);
    const TrainResult apart = runs.simulate("apart" + codec, with(kSix, same));
    EXPECT_EQ(apart.workers, 6);
    EXPECT_EQ(shared.train_loss, apart.train_loss) << codec;
    runs.expect_same_bits("shared" + codec, "apart" + codec, false);
    // Threads are real ranks, and come when they come.
    runs.on_threads(6, "threads" + codec, with(kSix, same));
    runs.expect_same_bits("apart" + codec, "threads" + codec);
  }
}

// A worker that is also a server computes for both; here nobody needs to, and
// an update takes no longer for the workers.
TEST(Servers, GoOnWithOthers) {
  const auto runs = digits();
  runs.simulate("once", with(kSix, {"train.epochs=1"}));
  // The checkpoint of six ranks is gone on with by four that share.
  const TrainResult on = runs.on_threads(4, "once", {}, true);
  EXPECT_EQ(on.epochs, 3);
  EXPECT_GT(on.test.get("accuracy"), 0.8);
}

// A memory that the checkpoint does not have would begin at weights that are
// gone by now.
TEST(Servers, RefuseWhatAnotherOptimizerHasLeft) {
  const auto runs = digits();
  runs.simulate("run", {"train.epochs=1"});
  for (const std::string policy : {"server", "stale_server", "async_server"}) {
    EXPECT_THAT(message_of([&] {
                  runs.simulate("run",
                                {"sync.policy=" + policy,
                                 "optimizer.wrap=[\"lookahead\"]"},
                                /*is_resumed=*/true);
                }),
                HasSubstr("checkpoint: has no f32"))
        << policy;
  }
}

TEST(Servers, OfTheirOwnNeedNotWaitEither) {
  const auto runs = digits();
  for (const std::string policy : {"stale_server(2)", "async_server"}) {
    const TrainResult result =
        runs.simulate(policy, with(kSix, {"sync.policy=" + policy}));
    EXPECT_GT(result.test.get("accuracy"), 0.8) << policy;
    // How stale gradients are on threads depends on what else the machine does:
    // that it learns is all that is promised.
    EXPECT_GT(runs.on_threads(6, "threads" + policy,
                              with(kSix, {"sync.policy=" + policy}))
                  .test.get("accuracy"),
              0.3)
        << policy;
  }
}

// Three of four are seldom all slow: a quorum is not held up by a straggler.
TEST(Servers, AQuorumDoesNotWaitForStragglers) {
  const auto runs = digits();
  // Whoever serves computes nothing, and so is never late itself.
  const std::vector<std::string> slow = with(
      kSix,
      {"simulate.compute=stragglers(20%, 8, constant(1ms))", "train.epochs=6"});
  const TrainResult all = runs.simulate("all", slow);
  const std::vector<std::string> three =
      with(slow, {"sync.policy=server(quorum=3)"});
  const TrainResult most = runs.simulate("most", three);
  EXPECT_LT(most.seconds, 0.9 * all.seconds);
  EXPECT_GT(most.test.get("accuracy"), 0.9);
  // What was late is read before anything is saved, and the same each time.
  runs.simulate("again", three);
  runs.expect_same_bits("most", "again");
}

// What a lossy network leaves of gradients is enough for a rule that bears what
// is missing, and where nothing is lost nothing is changed.
TEST(Servers, GradientsMayArriveInPart) {
  const auto runs = digits();
  // All count alike there, and so parts of a batch are to be of one size.
  const std::vector<std::string> by_median{
      "sync.rule=median", "sync.policy=server", "train.drop_last=true"};
  const std::vector<std::string> in_part{"sync.rule=median",
                                         "sync.policy=server(in_part=true)",
                                         "train.drop_last=true"};
  runs.simulate("whole", with(kSix, by_median));
  runs.simulate("in_part", with(kSix, in_part));
  runs.expect_same_bits("whole", "in_part");
  runs.on_threads(6, "threads", with(kSix, in_part));
  runs.expect_same_bits("whole", "threads");
  const std::vector<std::string> lossy =
      with(kSix, {"sync.rule=average_nan", "sync.policy=server(in_part=true)",
                  "simulate.loss=0.1"});
  const TrainResult result = runs.simulate("lossy", lossy);
  EXPECT_GT(result.test.get("accuracy"), 0.8);
  runs.simulate("again", lossy);
  runs.expect_same_bits("lossy", "again");
}

TEST(Servers, ADeadlineThatNobodyMissesChangesNothing) {
  const auto runs = digits();
  runs.simulate("all");
  runs.simulate("quorum", {"sync.policy=server(quorum=1, deadline=10s)"});
  runs.expect_same_bits("all", "quorum");
}

// Who is late waits for what it is sent, and others for its gradients of the
// next step: neither has all of the credit.
TEST(Servers, AQuorumTrainsWithLittleCredit) {
  const auto runs = digits();
  const TrainResult result = runs.simulate(
      "credit",
      {"sync.policy=server(quorum=2)", "sync.credit=1", "sync.order=first_use",
       "sync.slices=true", "sync.bucket_bytes=1024",
       "sync.topology=\"4@1us,1MB/s\"", "simulate.network=\"4@1us,1MB/s\"",
       "simulate.compute=exponential(1ms)"});
  EXPECT_EQ(result.epochs, 3);
}

// What picks nearly all entries sends more than they are.
TEST(Servers, TakeMessagesThatAreLongerThanGradients) {
  const auto runs = digits();
  for (const std::string policy : {"server", "async_server"}) {
    for (const std::string codec :
         {"index:raw value:qsgd(8, bucket=1)",
          "index:bloom(eps=1e-9) value:qsgd(8, bucket=1, coding=elias)"}) {
      const TrainResult result = runs.simulate(
          "longer", {"sync.policy=" + policy, "sync.sparsify=topk(1)",
                     "sync.codec=\"" + codec + "\"", "model.hidden=[64]",
                     "train.epochs=1"});
      EXPECT_EQ(result.epochs, 1) << policy << " " << codec;
    }
  }
}

TEST(Servers, AQuorumTrainsOnThreads) {
  const auto runs = digits();
  const TrainResult result = runs.on_threads(
      6, "threads",
      with(kSix,
           {"sync.policy=server(quorum=3, deadline=1ms)", "train.epochs=6"}));
  EXPECT_GT(result.test.get("accuracy"), 0.8);
}

TEST(Servers, OptionsThatMakeNoSenseAreRefused) {
  const auto optimizer = make_optimizer("sgd", {});
  const auto refusal = [&](const auto& change, int ranks) {
    SyncRecipe recipe;
    recipe.policy = "server";
    change(recipe);
    return message_of([&] {
      check_sync(recipe, *optimizer);
      check_ranks(recipe, ranks);
    });
  };
  EXPECT_THAT(refusal([](SyncRecipe& r) { r.servers = 4; }, 4),
              HasSubstr("nobody would be left who computes"));
  EXPECT_THAT(refusal([](SyncRecipe& r) { r.policy = "server(quorum=5)"; }, 4),
              HasSubstr("a quorum of 5 would never come"));
  // Ranks that only serve are no part of a quorum.
  EXPECT_THAT(refusal(
                  [](SyncRecipe& r) {
                    r.policy = "server(quorum=3)";
                    r.servers = 2;
                  },
                  4),
              HasSubstr("2 workers"));
  EXPECT_THAT(
      refusal([](SyncRecipe& r) { r.policy = "server(deadline=20ms)"; }, 4),
      HasSubstr("quorum=3"));
  EXPECT_THAT(refusal(
                  [](SyncRecipe& r) {
                    r.policy = "allreduce";
                    r.servers = 1;
                  },
                  4),
              HasSubstr("'async_server', 'server', 'stale_server'"));
  EXPECT_THAT(
      refusal([](SyncRecipe& r) { r.policy = "server(in_part=true)"; }, 4),
      HasSubstr("a mean with values that are missing would be no number"));
  EXPECT_THAT(refusal(
                  [](SyncRecipe& r) {
                    r.policy = "server(in_part=true)";
                    r.rule = "median";
                    r.codec = "3lc";
                  },
                  4),
              HasSubstr("a message of which a part is missing could not be "
                        "decoded"));
}

}  // namespace
}  // namespace weft::servers_test
