// Several workers, as threads, against one.
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/trees.h"

#include "weft/base/parallel.h"
#include "weft/base/philox.h"
#include "weft/comm/transport/thread.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/sync/rank_memory.h"
#include "weft/train/trainer.h"

namespace weft::workers_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

// Runs that measured the network might choose other algorithms, which round
// differently.
constexpr const char* kNetwork = "sync.topology=3@20us,1GB/s";

class WorkersTest : public ::testing::Test {
 protected:
  // A short run of a small network without dropout or batch norm, which one
  // worker and several compute alike.
  Recipe recipe(const std::string& folder,
                std::vector<std::string> overrides = {}) const {
    std::vector<std::string> all = {"log.folder=" +
                                    (root_.path() / folder).string()};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return parse_recipe(R"(
[model]
name = "mlp"
hidden = [32]
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.1
[train]
epochs = 4
batch = 128
[sync]
bucket_bytes = 4096
timeout = 20
)",
                        "test", all);
  }

  TrainResult train(const Recipe& recipe, int workers, bool is_resumed = false,
                    const ThreadWorldOptions& options = {}) {
    TrainResult result;
    ThreadWorld world(workers, options);
    world.run([&](Transport& transport) {
      set_thread_count(1);
      TrainObserver quiet;
      Trainer trainer(
          recipe,
          {.name = "test", .is_resumed = is_resumed, .transport = &transport});
      const TrainResult own = trainer.run(quiet);
      if (transport.rank() == 0) result = own;
    });
    return result;
  }

  std::map<std::string, Tensor> saved(const std::string& folder) const {
    const SafetensorsFile file(root_.path() / folder / "last.safetensors");
    std::map<std::string, Tensor> tensors;
    for (const auto& entry : file.entries()) {
      tensors[entry.name] = file.read(entry);
    }
    return tensors;
  }

  double largest_difference(const std::string& a, const std::string& b) const {
    double most = 0;
    const auto left = saved(a);
    const auto right = saved(b);
    for (const auto& [name, tensor] : left) {
      if (name.starts_with("sync.")) continue;
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        most =
            std::max(most, std::abs(tensor.item(i) - right.at(name).item(i)));
      }
    }
    return most;
  }

  test::TemporaryFolder root_;
};

TEST_F(WorkersTest, ComputeWhatOneComputes) {
  TrainObserver quiet;
  const TrainResult one = Trainer(recipe("one"), {.name = "test"}).run(quiet);
  for (const int workers : {1, 2, 3, 4}) {
    const std::string folder = fmt::format("of{}", workers);
    const TrainResult several = train(recipe(folder), workers);
    EXPECT_NEAR(several.train_loss, one.train_loss, 1e-5) << workers;
    EXPECT_EQ(several.test.get("accuracy"), one.test.get("accuracy"))
        << workers;
    EXPECT_LT(largest_difference("one", folder), 1e-5) << workers;
  }
}

// Pixels that are black in all images have no gradient, whoever computes it.
TEST_F(WorkersTest, LeaveTheRowsAloneThatOneLeaves) {
  const std::vector<std::string> overrides{"optimizer.weight_decay=0.1",
                                           "optimizer.wrap=[\"lazy_rows\"]"};
  TrainObserver quiet;
  Trainer(recipe("one", overrides), {.name = "test"}).run(quiet);
  train(recipe("of2", overrides), 2);
  EXPECT_LT(largest_difference("one", "of2"), 1e-5);
  const Tensor velocity = saved("of2").at("optimizer.velocity.fc1.weight");
  // The first pixel, and one in the middle.
  EXPECT_TRUE(
      identical(velocity.slice(0, 1), Tensor::zeros({DType::kF32, {1, 32}})));
  EXPECT_FALSE(
      identical(velocity.slice(28, 29), Tensor::zeros({DType::kF32, {1, 32}})));
}

// The mean is over words, of which some workers have more than others.
TEST_F(WorkersTest, TranslateAsOneDoes) {
  std::string source;
  std::string target;
  for (int i = 0; i < 30; ++i) {
    source += i % 2 == 0 ? "a b\n" : "c a b d c a b d\n";
    target += "w";
    for (int word = 0; word < i * i % 17; ++word) {
      target += fmt::format(" w{}", word % 5);
    }
    target += "\n";
  }
  const fs::path folder = root_.path() / "sentences";
  fs::create_directories(folder);
  for (const char* part : {"train", "test"}) {
    std::ofstream(folder / (std::string(part) + ".source")) << source;
    std::ofstream(folder / (std::string(part) + ".target")) << target;
  }
  const auto recipe_of = [&](const std::string& run) {
    return parse_recipe(
        R"(
[model]
name = "seq2seq"
layers = 1
width = 8
heads = 2
middle = 16
dropout = 0
[task]
name = "sequence-to-sequence"
[data]
name = "parallel-text"
[optimizer]
name = "momentum"
lr = 0.1
[train]
epochs = 2
batch = 8
[sync]
timeout = 20
)",
        "test",
        std::vector{"data.folder=" + folder.string(),
                    "log.folder=" + (root_.path() / run).string()});
  };
  TrainObserver quiet;
  Trainer(recipe_of("one"), {.name = "test"}).run(quiet);
  for (const int workers : {2, 3}) {
    const std::string run = fmt::format("of{}", workers);
    train(recipe_of(run), workers);
    EXPECT_LT(largest_difference("one", run), 1e-5) << workers;
  }
}

// Trees differ in size, and a worker counts its trees, not their nodes.
TEST_F(WorkersTest, TrainTreeNetworksAsOneDoes) {
  const fs::path trees = root_.path() / "sst";
  fs::create_directories(trees);
  std::ofstream(trees / "train.txt") << test::tree_lines(40, 7, 1);
  std::ofstream(trees / "dev.txt") << test::tree_lines(20, 7, 2);
  std::ofstream(trees / "test.txt") << test::tree_lines(20, 7, 3);
  const std::vector<std::string> overrides{"model.name=tree-rnn",
                                           "model.hidden=6",
                                           "data.name=sst",
                                           "optimizer.lr=0.01",
                                           "train.batch=25",
                                           "train.epochs=2",
                                           "data.folder=" + trees.string()};
  TrainObserver quiet;
  Trainer(recipe("one", overrides), {.name = "test"}).run(quiet);
  train(recipe("of2", overrides), 2);
  EXPECT_LT(largest_difference("one", "of2"), 1e-5);
}

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

struct Case {
  const char* name;
  std::vector<std::string> overrides;

  friend void PrintTo(const Case& self, std::ostream* out) {
    *out << self.name;
  }
};

class SyncTest : public WorkersTest,
                 public ::testing::WithParamInterface<Case> {};

TEST_P(SyncTest, LearnsAndResumesBitForBit) {
  std::vector<std::string> overrides = GetParam().overrides;
  overrides.emplace_back(kNetwork);
  const TrainResult whole = train(recipe("whole", overrides), 3);
  EXPECT_GT(whole.test.get("accuracy"), 0.75);

  overrides.emplace_back("train.max_steps=17");
  train(recipe("parts", overrides), 3);
  overrides.pop_back();
  train(recipe("parts", overrides), 3, /*is_resumed=*/true);
  const auto left = saved("whole");
  const auto right = saved("parts");
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, tensor] : left) {
    EXPECT_TRUE(identical(tensor, right.at(name))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SyncTest,
    ::testing::Values(
        Case{"ring", {"sync.collective=ring"}},
        Case{"bf16", {"sync.codec=bf16"}}, Case{"qsgd", {"sync.codec=qsgd(8)"}},
        Case{"threelc", {"sync.codec=3lc"}},
        Case{"topk", {"sync.sparsify=topk(0.05)"}},
        Case{"topk_warm",
             {"sync.sparsify=topk(0.05)", "sync.warmup_epochs=1",
              "sync.momentum_correction=0.9", "optimizer.name=sgd"}},
        Case{"updates", {"sync.sparsify=topk(0.05)", "sync.memory=updates"}},
        Case{"randomk", {"sync.sparsify=randomk(0.3)"}},
        Case{"bloom",
             {"sync.sparsify=topk(0.05)",
              "sync.codec=index:bloom(policy=p0) value:qsgd(7)"}},
        Case{"server", {"sync.policy=server"}},
        Case{"server_threelc", {"sync.policy=server", "sync.codec=3lc"}},
        Case{"gathered_entries",
             {"sync.sparsify=topk(0.05)", "sync.collective=all_gather"}},
        Case{"no_overlap", {"sync.overlap=false"}},
        Case{"clipped", {"optimizer.clip_norm=0.5"}}),
    [](const auto& info) { return std::string(info.param.name); });

// traffic.jsonl, line by line.
TEST_F(WorkersTest, DensityXiAndDriftStandInTheTrafficLog) {
  for (const char* memory : {"gradients", "updates"}) {
    train(recipe(memory, {"train.epochs=1", "sync.sparsify=topk(0.05)",
                          "sync.measure_every=3", "sync.min_elements=0",
                          fmt::format("sync.memory={}", memory), kNetwork}),
          3);
    std::ifstream file(root_.path() / memory / "traffic.jsonl");
    int steps = 0;
    for (std::string line; std::getline(file, line);) {
      ++steps;
      const auto number = [&](const std::string& name) {
        const auto found = line.find("\"" + name + "\": ");
        return found == line.npos
                   ? -1
                   : std::stod(line.substr(found + name.size() + 4));
      };
      // Each of three picks a twentieth, largely others.
      EXPECT_GT(number("density"), 0.04) << line;
      EXPECT_LT(number("density"), 0.16) << line;
      EXPECT_EQ(number("xi") > 0, steps % 3 == 0) << line;
      EXPECT_EQ(number("drift") > 0, steps % 3 == 0) << line;
      EXPECT_LT(number("xi"), 5) << line;
    }
    EXPECT_EQ(steps, 12);
  }
}

// What was exchanged otherwise has no memories, and the run says so.
TEST_F(WorkersTest, ACheckpointWithoutMemoriesIsSaid) {
  train(recipe("run", {"train.max_steps=3"}), 2);
  std::mutex mutex;
  std::vector<std::string> notes;
  class Noting : public TrainObserver {
   public:
    void on_note(const std::string& note) override { all += note + "\n"; }
    std::string all;
  };
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    Noting observer;
    Trainer(recipe("run", {"train.max_steps=4", "sync.codec=3lc"}),
            {.name = "test", .is_resumed = true, .transport = &transport})
        .run(observer);
    const std::lock_guard lock(mutex);
    notes.push_back(observer.all);
  });
  EXPECT_THAT(notes, testing::Contains(HasSubstr(
                         "no memory of what was not sent for 2 of 2 tensors")));
}

// Two factors, so that neither is the ring of all.
TEST_F(WorkersTest, BlueConnectOfTwoByTwo) {
  const std::vector<std::string> overrides = {
      "sync.collective=blueconnect([2, 2])", "train.epochs=2"};
  train(recipe("blue", overrides), 4);
  train(recipe("ring", {"sync.collective=ring", "train.epochs=2"}), 4);
  const double difference = largest_difference("blue", "ring");
  EXPECT_LT(difference, 1e-5);
  EXPECT_GT(difference, 0);  // it adds in another order
  const auto said = refusals(3, [&](int) { return recipe("run", overrides); });
  EXPECT_THAT(said[0],
              HasSubstr("declines 3 ranks, because the factors [2, 2]"));
}

// Nothing that was kept back is lost when another number of workers goes on.
TEST_F(WorkersTest, AnotherNumberOfWorkersKeepsWhatWasNotSent) {
  const std::vector<std::string> overrides = {"sync.sparsify=topk(0.02)",
                                              "train.max_steps=9"};
  train(recipe("run", overrides), 4);
  const auto tensors = saved("run");
  const auto read = [&](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? Tensor() : found->second;
  };
  int compared = 0;
  for (const auto& entry : tensors) {
    // OpenMP's regions capture no structured bindings, nor do lambdas in them.
    const std::string& name = entry.first;
    const Tensor& tensor = entry.second;
    const std::string first = "sync.0.residual.";
    if (!name.starts_with(first)) continue;
    const std::string own = name.substr(std::string("sync.0.").size());
    const auto total = [&](int ranks, const auto& of_rank) {
      std::vector<double> sum(static_cast<std::size_t>(tensor.size()));
      for (int rank = 0; rank < ranks; ++rank) {
        const Tensor part = of_rank(rank);
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] += part.span<float>()[i];
        }
      }
      return sum;
    };
    const auto before = total(4, [&](int rank) {
      return read(fmt::format("sync.{}.{}", rank, own));
    });
    EXPECT_NE(before, std::vector<double>(before.size())) << own;
    for (const int ranks : {1, 2, 3, 4, 6}) {
      ThreadWorld world(ranks);
      const auto after = total(ranks, [&](int rank) {
        Tensor restored = Tensor::empty(tensor.type());
        restore_rank_memory({{own, restored}},
                            Communicator(world.endpoint(rank)), read, 4);
        return restored;
      });
      for (std::size_t i = 0; i < before.size(); ++i) {
        ASSERT_NEAR(after[i], before[i], 1e-6) << own << ", " << ranks;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 5);
  train(recipe("run", {"sync.sparsify=topk(0.02)", "train.max_steps=10"}), 3,
        /*is_resumed=*/true);
}

// One network for all, whatever is measured: workers that chose by their own
// measurements would disagree and never end.
TEST_F(WorkersTest, AutoIsTheSameForAll) {
  std::mutex mutex;
  std::vector<std::string> texts;
  class Noting : public TrainObserver {
   public:
    void on_start(const TrainSummary& summary) override { text = summary.sync; }
    std::string text;
  };
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    Noting observer;
    Trainer trainer(recipe("run", {"sync.codec=auto", "train.epochs=1"}),
                    {.name = "test", .transport = &transport});
    EXPECT_GT(trainer.run(observer).test.get("accuracy"), 0.2);
    const std::lock_guard lock(mutex);
    texts.push_back(observer.text);
  });
  const auto said = std::ranges::find_if(
      texts, [](const std::string& text) { return !text.empty(); });
  ASSERT_NE(said, texts.end());
  EXPECT_THAT(*said, HasSubstr("codec auto: "));
  EXPECT_THAT(*said, HasSubstr("pays below:"));
}

TEST_F(WorkersTest, AWorkerThatFailsEndsAllWithItsReason) {
  try {
    train(recipe("run", {"optimizer.name=sgd", "optimizer.lr=1e30"}), 3);
    FAIL() << "a learning rate of 1e30 went well";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric) << error.what();
  }
}

// A worker that is killed as it sends, early or late, within an exchange or
// while the checkpoint is gathered: all end, and the folder goes on from its
// last checkpoint to the bits of a run that nothing happened to.
TEST_F(WorkersTest, AnyDeathLeavesACheckpointThatResumesBitForBit) {
  const std::vector<std::string> overrides = {
      "train.epochs=1", "train.checkpoint_every=3", "sync.sparsify=topk(0.05)",
      kNetwork};
  train(recipe("whole", overrides), 3);
  const auto whole = saved("whole");
  // A run of 12 steps sends some 200 messages per rank.
  const RandomStream random{.seed = 5, .stream = 1};
  int deaths = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    fs::remove_all(root_.path() / "killed");
    const auto rank = static_cast<int>(random.word(2 * i) % 3);
    const std::uint64_t sends = 1 + random.word(2 * i + 1) % 200;
    try {
      train(recipe("killed", overrides), 3, /*is_resumed=*/false,
            {.death = {rank, sends}});
    } catch (const Error& error) {
      ++deaths;
      EXPECT_THAT(error.what(), HasSubstr("killed")) << rank << " " << sends;
    }
    train(recipe("killed", overrides), 3, /*is_resumed=*/true);
    const auto again = saved("killed");
    ASSERT_EQ(again.size(), whole.size());
    for (const auto& [name, tensor] : whole) {
      ASSERT_TRUE(identical(tensor, again.at(name)))
          << name << ", rank " << rank << " killed at send " << sends;
    }
  }
  EXPECT_GT(deaths, 50);
}

// Keys of [sync] that decline each other say so where the recipe is read, with
// what declines what, where it comes from and what works.
TEST_F(WorkersTest, RefusesWhatMakesNoSense) {
  const auto refusal = [&](std::vector<std::string> overrides) {
    try {
      recipe("run", std::move(overrides));
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
TEST_F(WorkersTest, RefusesWhatIsNotKnown) {
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

TEST_F(WorkersTest, TheNetworkMayBeInAFile) {
  const auto file = root_.write("network", "2@20us,1GB/s\n");
  const std::string key = "sync.topology=" + file.string();
  train(recipe("file", {key, "train.max_steps=5"}), 2);
  train(recipe("text", {"sync.topology=2@20us,1GB/s", "train.max_steps=5"}), 2);
  EXPECT_EQ(largest_difference("file", "text"), 0);
  EXPECT_EQ(recipe("text", {key}).sync.topology, "2@20us,1GB/s");
  try {
    train(recipe("run", {key}), 3);
    FAIL() << "three workers on a network of two";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("declines 3 workers, because it has 2 ranks"));
  }
}

// Otherwise they would train on, each its own way.
TEST_F(WorkersTest, OtherRecipesAreNamedWithTheirKeysAndRanks) {
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

TEST_F(WorkersTest, OtherDataAreNamed) {
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

// Hosts that share no folder: what the first one has counts.
TEST_F(WorkersTest, TheFirstWorkersCheckpointIsEveryones) {
  const std::vector<std::string> overrides = {
      "train.epochs=2", "sync.sparsify=topk(0.05)", kNetwork};
  train(recipe("whole", overrides), 3);
  auto first = overrides;
  first.emplace_back("train.max_steps=7");
  train(recipe("first", first), 3);
  // Rank 1 has none, rank 2 an older one.
  first.back() = "train.max_steps=3";
  train(recipe("older", first), 3);
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    const char* folders[] = {"first", "none", "older"};
    TrainObserver quiet;
    Trainer(recipe(folders[transport.rank()], overrides),
            {.name = "test", .is_resumed = true, .transport = &transport})
        .run(quiet);
  });
  const auto whole = saved("whole");
  const auto again = saved("first");
  ASSERT_EQ(whole.size(), again.size());
  for (const auto& [name, tensor] : whole) {
    EXPECT_TRUE(identical(tensor, again.at(name))) << name;
  }
  EXPECT_FALSE(fs::exists(root_.path() / "none"));
}

TEST_F(WorkersTest, MoreWorkersThanExamplesAreRefused) {
  try {
    train(recipe("run", {"train.batch=2"}), 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 workers cannot share a batch of 2"));
  }
}

}  // namespace
}  // namespace weft::workers_test
