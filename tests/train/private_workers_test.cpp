// Differentially private training by several workers: what one worker does, but
// for rounding.
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "tests/support/errors.h"
#include "tests/support/secret_keys.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/parallel.h"
#include "weft/budget/budget_ledger.h"
#include "weft/comm/transport/thread.h"
#include "weft/files/safetensors.h"
#include "weft/privacy/noise/noise.h"
#include "weft/train/private_run.h"
#include "weft/train/train_loop.h"
#include "weft/train/trainer.h"

namespace weft::private_workers_test {
namespace {

using test::expect_error;

// A key that is put in place before it begins, as resuming does, so that runs
// draw the same.
class PrivateWorkers : public ::testing::Test {
 protected:
  Recipe recipe(
      const std::string& folder, std::vector<std::string> overrides = {},
      const std::string& model = "name = \"mlp\"\nhidden = [16]") const {
    overrides.push_back("log.folder=" + path(folder).string());
    return parse_recipe("[model]\n" + model + R"(
[data]
name = "digits"
[optimizer]
name = "momentum"
lr = 0.05
[train]
epochs = 2
batch = 100
max_steps = 8
[sync]
timeout = 20
bucket_bytes = 2048
[privacy]
noise = 1
)",
                        "test", overrides);
  }
  void give_key(const std::string& folder) const {
    std::filesystem::create_directories(path(folder));
    write_key(path(folder) / "privacy.key", test::key_of(9));
  }
  TrainResult train(const Recipe& recipe, int workers, bool is_resumed = true,
                    const std::atomic<bool>* stop = nullptr) const {
    TrainResult result;
    std::mutex mutex;
    ThreadWorld world(workers);
    world.run([&](Transport& transport) {
      set_thread_count(1);
      TrainObserver quiet;
      const TrainResult own = Trainer(recipe, {.name = "test",
                                               .is_resumed = is_resumed,
                                               .stop = stop,
                                               .transport = &transport})
                                  .run(quiet);
      const std::lock_guard lock(mutex);
      if (transport.rank() == 0) result = own;
    });
    return result;
  }
  std::filesystem::path path(const std::string& name) const {
    return root_.path() / name;
  }
  std::map<std::string, Tensor> saved(const std::string& folder) const {
    const SafetensorsFile file(path(folder) / "last.safetensors");
    std::map<std::string, Tensor> tensors;
    for (const auto& entry : file.entries()) {
      tensors[entry.name] = file.read(entry);
    }
    return tensors;
  }
  // The largest, of weights and slots.
  double difference(const std::string& a, const std::string& b) const {
    double most = 0;
    const auto right = saved(b);
    for (const auto& [name, tensor] : saved(a)) {
      EXPECT_TRUE(right.contains(name)) << name;
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        most =
            std::max(most, std::abs(tensor.item(i) - right.at(name).item(i)));
      }
    }
    return most;
  }

 private:
  test::TemporaryFolder root_;
};

// Sums over workers round in another order, and noise is added on a grid, of
// which a number may then be the next point: a 4,096th of the deviation, over
// 100 examples, times the rates of 8 steps with momentum.
constexpr double kGridSteps = 1.0 / 4096 / 100 * 0.05 * 8 * 10;

TEST_F(PrivateWorkers, TrainAsOneDoes) {
  give_key("of1");
  TrainObserver quiet;
  const TrainResult alone =
      Trainer(recipe("of1"), {.name = "test", .is_resumed = true}).run(quiet);
  for (const int workers : {1, 2, 3}) {
    const std::string folder = fmt::format("threads{}", workers);
    give_key(folder);
    const TrainResult result = train(recipe(folder), workers);
    EXPECT_LT(difference("of1", folder), kGridSteps) << workers;
    EXPECT_NEAR(result.train_loss, alone.train_loss, 1e-4) << workers;
    EXPECT_FALSE(std::filesystem::exists(path(folder) / "privacy.key"));
  }
  // Where all numbers are a thousandth of what noise makes of them, another key
  // gives other weights: the noise is there.
  give_key("quiet");
  train(recipe("quiet", {"privacy.noise=1e-6"}), 2);
  EXPECT_GT(difference("of1", "quiet"), 1e-3);
}

// Dropout is drawn by the place of an example in the whole batch.
TEST_F(PrivateWorkers, DropOutTheSame) {
  const auto with = [&](const std::string& folder) {
    return recipe(folder, {"train.max_steps=3", "privacy.noise=1e-3"},
                  "name = \"digits-cnn\"\ndropout = 0.4");
  };
  give_key("alone");
  give_key("three");
  TrainObserver quiet;
  Trainer(with("alone"), {.name = "test", .is_resumed = true}).run(quiet);
  train(with("three"), 3);
  EXPECT_LT(difference("alone", "three"), 1e-5);
}

// Examples one by one, and batches in parts, are the same sums.
TEST_F(PrivateWorkers, SumWhatWasComputedInOtherWays) {
  give_key("whole");
  train(recipe("whole"), 1);
  const std::vector<std::vector<std::string>> ways{
      {"privacy.per_example=one by one"},
      {"sync.overlap_forward=true"},
      {"sync.overlap=false", "sync.collective=ring",
       "sync.topology=2@1us,1GB/s"}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::string folder = fmt::format("way{}", i);
    give_key(folder);
    train(recipe(folder, ways[i]), 2);
    EXPECT_LT(difference("whole", folder), kGridSteps) << ways[i][0];
  }
  // The noise of a batch in parts has the number of its last one, so that only
  // sums without noise are the same.
  give_key("quiet");
  give_key("parts");
  train(recipe("quiet", {"privacy.noise=1e-6", "train.max_steps=3"}), 1);
  train(recipe("parts",
               {"privacy.noise=1e-6", "privacy.rows=48", "train.max_steps=12"}),
        2);
  const auto quiet = saved("quiet");
  const auto parts = saved("parts");
  for (const auto& [name, tensor] : quiet) {
    if (name.starts_with("optimizer.")) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      ASSERT_NEAR(tensor.item(i), parts.at(name).item(i), 1e-5) << name;
    }
  }
}

// A run of three that is stopped goes on as one of two, and ends as one that
// was never stopped: with the same batches and the same noise.
TEST_F(PrivateWorkers, GoOnAfterAKill) {
  give_key("through");
  give_key("stopped");
  train(recipe("through"), 3);
  const std::atomic<bool> stop{true};
  EXPECT_ANY_THROW(train(recipe("stopped"), 3, true, &stop));
  EXPECT_TRUE(std::filesystem::exists(path("stopped") / "privacy.key"));
  train(recipe("stopped"), 2);
  EXPECT_LT(difference("through", "stopped"), kGridSteps);
}

// Fails in a step, as a worker whose machine is lost.
class Fails : public TrainHook {
 public:
  void on_step(TrainLoop& loop) override {
    if (loop.steps_done() == 6) {
      throw Error(ErrorCode::kUnavailable, "test", "this machine is lost");
    }
  }
};

TEST_F(PrivateWorkers, GoOnWithoutOneThatIsLost) {
  const std::vector<std::string> often{"train.checkpoint_every=4"};
  give_key("through");
  give_key("lost");
  train(recipe("through", often), 3);
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    TrainObserver quiet;
    Trainer trainer(
        recipe("lost", often),
        {.name = "test", .is_resumed = true, .transport = &transport});
    if (transport.rank() == 1) trainer.add(std::make_unique<Fails>());
    EXPECT_THROW(trainer.run(quiet), Error);
  });
  train(recipe("lost", often), 2);
  EXPECT_LT(difference("through", "lost"), kGridSteps);
}

// Spoils an example of a batch, so that its gradients are not finite.
class Spoils : public TrainHook {
 public:
  void on_batch(TrainLoop& loop) override {
    if (loop.steps_done() != 3) return;
    const Tensor& x = loop.batch().tensors[0];
    std::ranges::fill(x.slice(2, 3).span<float>(), INFINITY);
  }
};

// An example that cannot be clipped ends all, and each says what it was; the
// others say whose, too. The key is there still, to go on without it.
TEST_F(PrivateWorkers, EndWhereAnExampleCannotBeClipped) {
  for (const std::string on : {"sum", "shares", "messages"}) {
    for (const std::string way : {"batched", "one by one"}) {
      std::vector<std::string> said(3);
      ThreadWorld world(3);
      world.run([&](Transport& transport) {
        set_thread_count(1);
        TrainObserver quiet;
        Trainer trainer(recipe("spoilt", {"privacy.noise_on=" + on,
                                          "privacy.per_example=" + way}),
                        {.name = "test", .transport = &transport});
        const int rank = transport.rank();
        if (rank == 1) trainer.add(std::make_unique<Spoils>());
        said[static_cast<std::size_t>(rank)] =
            test::message_of([&] { trainer.run(quiet); });
      });
      for (const std::string& each : said) {
        EXPECT_EQ(each.starts_with("rank 1: "), &each != &said[1]) << each;
        for (const char* part : {"private training: the gradients of example",
                                 "of the batch are not finite", "in: step 4"}) {
          EXPECT_NE(each.find(part), std::string::npos) << on << way << each;
        }
      }
      EXPECT_TRUE(std::filesystem::exists(
          path("spoilt") /
          (on == "sum" ? "privacy.key" : "privacy-1-of-3.key")));
    }
  }
}

// A key that the first worker cannot read ends all, with its reason.
TEST_F(PrivateWorkers, AreToldWhyTheFirstEnds) {
  std::mutex mutex;
  std::vector<std::string> said;
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    TrainObserver quiet;
    try {
      Trainer(recipe("nowhere"),
              {.name = "test", .is_resumed = true, .transport = &transport})
          .run(quiet);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      said.push_back(error.what());
    }
  });
  ASSERT_EQ(said.size(), 2u);
  for (const std::string& each : said) {
    EXPECT_NE(each.find("the key of this run is gone"), std::string::npos)
        << each;
  }
}

// The ledger is asked once for all of them, and a refusal ends all.
TEST_F(PrivateWorkers, AreChargedOnce) {
  const std::string books = path("books.db").string();
  Ledger ledger = Ledger::open(books, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("digits", {.epsilon = 6, .delta = 1e-5});
  const std::vector<std::string> asking{"privacy.ledger=" + books};
  train(recipe("first", asking), 3, /*is_resumed=*/false);
  EXPECT_EQ(budgets.books().claims().size(), 1u);
  const double spent =
      BudgetBooks::consumed_epsilon(budgets.books().blocks().at("digits"));
  EXPECT_GT(spent, 0);
  const Recipe more = recipe("second", {asking[0], "privacy.noise=0.3"});
  expect_error(ErrorCode::kExhausted, {"no budget"},
               [&] { train(more, 2, /*is_resumed=*/false); });
  EXPECT_EQ(
      BudgetBooks::consumed_epsilon(budgets.books().blocks().at("digits")),
      spent);
}

TEST_F(PrivateWorkers, DeclineWhatWouldPromiseLess) {
  const auto declined = [&](std::initializer_list<std::string> parts,
                            const std::vector<std::string>& overrides) {
    expect_error(ErrorCode::kInvalidArgument, parts, [&] {
      train(recipe("a", overrides), 2, /*is_resumed=*/false);
    });
  };
  declined({"privacy", "'local_sgd'", "do not have that sum", "allreduce"},
           {"sync.policy=local_sgd"});
  declined({"privacy", "'topk", "before there is noise"},
           {"sync.sparsify=topk(0.1)"});
  declined({"privacy", "f16"}, {"sync.codec=value:f16"});
  declined({"privacy", "'median'", "clip_norm"},
           {"sync.rule=median", "sync.collective=all_gather"});
  declined({"privacy", "sync.slices"}, {"sync.slices=true"});
}

}  // namespace
}  // namespace weft::private_workers_test
