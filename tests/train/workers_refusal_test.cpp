// What workers refuse when the recipe is read, and where they differ.
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

#include "tests/support/errors.h"
#include "tests/support/trees.h"
#include "tests/support/worker_runs.h"

namespace weft::workers_refusal_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WorkersRefusalTest : public test::WorkerRuns {};

// What each worker of a run that must fail says.
std::vector<std::string> refusals(
    int workers, const std::function<Recipe(int)>& recipe_of,
    const std::function<bool(int)>& is_resumed = [](int) { return false; }) {
  std::mutex mutex;
  std::vector<std::string> said(static_cast<std::size_t>(workers));
  ThreadWorld world(workers);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    const int rank = transport.rank();
    TrainObserver quiet;
    std::string text = "trained";
    try {
      Trainer(recipe_of(rank), {.name = "test",
                                .is_resumed = is_resumed(rank),
                                .transport = &transport})
          .run(quiet);
    } catch (const Error& error) {
      text = error.what();
    }
    const std::lock_guard lock(mutex);
    said[static_cast<std::size_t>(rank)] = text;
  });
  return said;
}

// Keys of [sync] that decline each other say so where the recipe is read, with
// what declines what, where it comes from and what works.
TEST_F(WorkersRefusalTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](const std::vector<std::string>& overrides) {
    try {
      recipe("run", overrides);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using Keys = std::vector<std::string>;
  const auto expect = [&](const Keys& overrides, const std::string& message,
                          const std::string& instead) {
    const std::string said = refusal(overrides);
    // The key that declines is the one that the message begins with.
    const std::string key = message.substr(0, message.find(':'));
    EXPECT_THAT(said, StartsWith(message));
    EXPECT_THAT(said, HasSubstr(", because "));
    EXPECT_THAT(said, HasSubstr("in: " + key + ", "));
    EXPECT_THAT(said, HasSubstr("hint: " + instead));
  };
  const std::string topk = "sync.sparsify=topk(0.1)";
  expect({"sync.codec=auto", topk},
         "sync.codec: 'auto' declines sparsify 'topk(", "leave that out");
  expect({"sync.codec=auto", "sync.collective=ring"},
         "sync.codec: 'auto' declines collective 'ring'", "leave that out");
  expect({topk, "sync.codec=qsgd(4)"},
         "sync.codec: 'qsgd(bits=4, bucket=512, norm=l2, coding=fixed)' "
         "declines memory 'gradients', because what is left out is added",
         "qsgd(bits=5, bucket=512)");
  expect({topk, "sync.memory=none", "sync.momentum_correction=0.9"},
         "sync.momentum_correction: 0.9 declines memory 'none'", "leave");
  expect({"sync.momentum_correction=0.9"},
         "sync.momentum_correction: 0.9 declines dense gradients", "sparsify");
  for (const char* optimizer : {"momentum", "nesterov", "adam"}) {
    expect({topk, "sync.momentum_correction=0.9",
            fmt::format("optimizer.name={}", optimizer)},
           "sync.momentum_correction: 0.9 declines this optimizer, because it "
           "has momentum of its own",
           "optimizer.name = \"sgd\"");
  }
  expect({"sync.warmup_epochs=2"},
         "sync.warmup_epochs: 2 declines dense gradients", "sparsify");
  expect({"sync.warmup_epochs=2", "sync.sparsify=threshold(0.1)"},
         "sync.warmup_epochs: 2 declines 'threshold'", "sparsify");
  expect({"sync.warmup_epochs=2", "sync.sparsify=topk(count=5)"},
         "sync.warmup_epochs: 2 declines 'topk' with a count", "sparsify");
  expect({"sync.measure_every=2"},
         "sync.measure_every: 2 declines dense gradients", "sparsify");
  expect({topk, "sync.measure_every=2", "sync.policy=server"},
         "sync.measure_every: 2 declines policy 'server(", "policy");
  expect({"sync.codec=3lc", "sync.collective=ring"},
         "sync.collective: 'ring' declines '3lc(s=1, zero_run=true)', because "
         "messages of this codec cannot be added",
         "collective = \"all_gather\"");
  expect({topk, "sync.collective=ring"}, "sync.collective: 'ring' declines",
         "collective = \"auto\", or one of: dense, dsar");
  for (const char* streams : {"dsar", "auto(qsgd(4))"}) {
    expect({fmt::format("sync.collective={}", streams)}, "sync.collective: '",
           "collective = \"auto\", or sparsify");
  }
  expect({topk, "sync.collective=dsar(onebit)"},
         "sync.collective: 'dsar(quantizer=onebit)' declines quantizer "
         "'onebit', because it leaves out",
         "qsgd(4)");
  expect({"sync.policy=server", "sync.collective=ring"},
         "sync.collective: 'ring' declines policy 'server(quorum=0, "
         "deadline=0, in_part=false)', because that uses "
         "no collective",
         "leave");
  expect({"sync.policy=server", "sync.codec=qsgd(4)"},
         "sync.policy: 'server(quorum=0, deadline=0, in_part=false)' declines "
         "codec 'qsgd(bits=4",
         "qsgd(bits=5, bucket=512)");
  expect({"sync.policy=server", "sync.sparsify=randomk(0.1, scale=true)"},
         "sync.policy: 'server(quorum=0, deadline=0, in_part=false)' declines "
         "codec 'randomk(",
         "randomk(0.1)");

  for (const Keys& works :
       {Keys{topk, "sync.codec=qsgd(4)", "sync.memory=none"},
        {"sync.policy=server", "optimizer={name = \"prodigy\"}"},
        {topk, "sync.momentum_correction=0.9", "optimizer.name=sgd"},
        {"sync.codec=auto", "sync.collective=auto"},
        {"sync.collective=blueconnect([4, 8])"},
        {"sync.collective=blueconnect(4,8)"},  // of before
        {"sync.collective=blueconnect([2, 2], chunks=4)"},
        {topk, "sync.collective=dsar(qsgd(4))"},
        {topk, "sync.collective=auto(qsgd(4))"},
        {topk, "sync.codec=zstd", "sync.collective=all_gather"},
        {"sync.codec=qsgd(4)"},
        {"sync.policy=server", "sync.codec=qsgd(5)"}}) {
    EXPECT_EQ(refusal(works), "accepted") << fmt::format("{}", works[0]);
  }
}

// What a recipe names is refused by what its registry says of it.
TEST_F(WorkersRefusalTest, RefusesWhatIsNotKnown) {
  const auto expect = [&](const std::string& override,
                          std::initializer_list<std::string> parts) {
    test::expect_error(ErrorCode::kInvalidArgument, parts,
                       [&] { recipe("run", {override}); });
  };
  expect("sync.policy=servr", {"did you mean 'server'"});
  expect("sync.policy=server(a=1)", {"unknown option 'a'"});
  expect("sync.memory=some", {"gradients, updates, none"});
  expect("sync.collective=rng", {"did you mean 'ring'", "blueconnect"});
  expect("sync.collective=blueconnect([4, x])", {"integers"});
  expect("sync.collective=blueconnect(4, 8)", {"a list is written [4, 8]"});
  expect("sync.collective=blueconnect([4, 0])", {"holds 0, which must be in"});
  expect("sync.collective=blueconnect([4], stage=rings)",
         {"did you mean 'ring'"});
  expect("sync.collective=rabenseifner(order=nearby)", {"far, near"});
  expect("sync.collective=ring(4)", {"no options"});
  expect("sync.collective=dsar(qsgd(9))", {"'bits' = 9 must be in [2, 8]"});
  expect("sync.sparsify=qsgd(4)", {"no sparsifier 'qsgd'", "topk"});
  expect("sync.topology=4@1GB/s", {"topology"});
}

// Otherwise they would train on, each its own way.
TEST_F(WorkersRefusalTest, OtherRecipesAreNamedWithTheirKeysAndRanks) {
  const auto said = refusals(3, [&](int rank) {
    return recipe(
        "run", rank == 2
                   ? std::vector<std::string>{"optimizer.lr=0.05",
                                              "train.seed=7", "data.augment=[]"}
                   : std::vector<std::string>{});
  });
  for (const std::string& text : said) {
    EXPECT_THAT(text, HasSubstr("rank 2 and rank 0 do not train the same"));
    EXPECT_THAT(text, HasSubstr("train.seed: rank 0 has 1, rank 2 has 7"));
    EXPECT_THAT(text, HasSubstr("from=0.05"));
    EXPECT_THAT(text, Not(HasSubstr("momentum")));
  }
  // They differ in what they would exchange first.
  const auto network = refusals(2, [&](int rank) {
    return recipe("run", {rank == 0 ? "sync.codec=auto" : "sync.codec=3lc"});
  });
  EXPECT_THAT(network[1],
              HasSubstr("sync.codec: rank 0 has \"auto\", rank 1 has "
                        "\"3lc(s=1, zero_run=true)\""));
  const auto resumed = refusals(
      2, [&](int) { return recipe("run"); },
      [](int rank) { return rank == 1; });
  EXPECT_THAT(resumed[0],
              HasSubstr("--resume: rank 0 has not given, rank 1 has given"));
}

TEST_F(WorkersRefusalTest, OtherDataAreNamed) {
  const auto trees = [&](const std::string& folder, int seed) {
    const fs::path path = root_.path() / folder;
    fs::create_directories(path);
    std::ofstream(path / "train.txt") << test::tree_lines(40, 7, 1);
    std::ofstream(path / "dev.txt") << test::tree_lines(20, 7, 2);
    std::ofstream(path / "test.txt") << test::tree_lines(20, 7, seed);
    return "data.folder=" + path.string();
  };
  const std::vector<std::string> folders{trees("a", 3), trees("b", 4)};
  const auto said = refusals(2, [&](int rank) {
    return recipe("run",
                  {"model.name=tree-rnn", "model.hidden=6", "data.name=sst",
                   folders[static_cast<std::size_t>(rank)]});
  });
  for (const std::string& text : said) {
    EXPECT_THAT(text, HasSubstr("content of the test data: rank 0 has"));
    EXPECT_THAT(text, Not(HasSubstr("training data")));
  }
}

TEST_F(WorkersRefusalTest, MoreWorkersThanExamplesAreRefused) {
  try {
    train(recipe("run", {"train.batch=2"}), 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 workers cannot share a batch of 2"));
  }
}

}  // namespace
}  // namespace weft::workers_refusal_test
