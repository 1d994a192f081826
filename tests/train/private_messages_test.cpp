// Private training whose workers have a key, examples and noise of their own.
#include <atomic>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/secret_keys.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/files/safetensors.h"
#include "weft/train/private_run.h"
#include "weft/train/trainer.h"

namespace weft::private_messages_test {
namespace {

using test::expect_error;

using Overrides = std::vector<std::string>;

class PrivateMessages : public ::testing::Test {
 protected:
  // Noise is next to nothing, unless `overrides` say otherwise, so that what is
  // computed can be compared.
  Recipe recipe(const std::string& folder, Overrides overrides) const {
    overrides.push_back("log.folder=" + path(folder).string());
    return parse_recipe(R"(
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.5
[train]
epochs = 1
batch = 100
max_steps = 5
[sync]
timeout = 20
bucket_bytes = 2048
[privacy]
noise = 1e-6
)",
                        "test", overrides);
  }
  // Puts keys in place before the run begins, as resuming does, so that all
  // runs draw the same.
  void give_keys(const std::string& folder, int workers) const {
    std::filesystem::create_directories(path(folder));
    for (int worker = 1; worker <= workers; ++worker) {
      write_key(
          path(folder) / fmt::format("privacy-{}-of-{}.key", worker, workers),
          test::key_of(static_cast<std::uint8_t>(worker)));
    }
  }
  void run(const std::string& folder, int ranks, const Overrides& overrides,
           bool is_resumed, const std::atomic<bool>* stop = nullptr) const {
    const Recipe own = recipe(folder, overrides);
    ThreadWorld world(ranks);
    world.run([&](Transport& transport) {
      set_thread_count(1);
      TrainObserver quiet;
      Trainer(own, {.name = "test",
                    .is_resumed = is_resumed,
                    .stop = stop,
                    .transport = &transport})
          .run(quiet);
    });
  }
  // With keys that are the same in all runs.
  void train(const std::string& folder, int ranks, const Overrides& overrides,
             int servers = 0) const {
    give_keys(folder, ranks - servers);
    run(folder, ranks, overrides, /*is_resumed=*/true);
  }
  std::vector<double> weights(const std::string& folder) const {
    const SafetensorsFile file(path(folder) / "last.safetensors");
    std::vector<double> all;
    for (const auto& entry : file.entries()) {
      if (!entry.name.starts_with("fc")) continue;
      const Tensor tensor = file.read(entry);
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        all.push_back(tensor.item(i));
      }
    }
    EXPECT_GT(all.size(), 1000u);
    return all;
  }
  // The largest.
  double difference(const std::string& a, const std::string& b) const {
    const auto left = weights(a);
    const auto right = weights(b);
    double most = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      most = std::max(most, std::abs(left[i] - right.at(i)));
    }
    return most;
  }
  // The standard deviation of how far the weights of two runs are apart.
  double deviation(const std::string& a, const std::string& b) const {
    const auto left = weights(a);
    const auto right = weights(b);
    double squares = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      squares += (left[i] - right[i]) * (left[i] - right[i]);
    }
    return std::sqrt(squares / static_cast<double>(left.size()));
  }
  std::filesystem::path path(const std::string& name) const {
    return root_.path() / name;
  }

 private:
  test::TemporaryFolder root_;
};

const std::string kShares = "privacy.noise_on=shares";
const std::string kMessages = "privacy.noise_on=messages";

// One step of SGD at a rate of 1 moves weights by the noise over 100 examples:
// shares add up to one worker's noise, and whole ones to sqrt(N) times that.
TEST_F(PrivateMessages, HaveTheNoiseThatIsCounted) {
  for (const int workers : {1, 2, 4}) {
    for (const std::string& on : {kShares, kMessages}) {
      const auto after = [&](const std::string& name, const char* noise) {
        const std::string folder = fmt::format("{}{}{}", name, on, workers);
        train(folder, workers,
              {on, fmt::format("privacy.noise={}", noise), "optimizer.lr=1",
               "train.max_steps=1"});
        return folder;
      };
      const double expected = on == kShares ? 1 : std::sqrt(workers);
      // 1,210 numbers tell a deviation to one in fifty.
      EXPECT_NEAR(deviation(after("loud", "100"), after("quiet", "1e-6")),
                  expected, 0.1 * expected)
          << on << " of " << workers;
    }
  }
}

// One worker's own noise on its own examples is that of a run by one.
TEST_F(PrivateMessages, OfOneAreARunByOne) {
  std::filesystem::create_directories(path("sum"));
  write_key(path("sum") / "privacy.key", test::key_of(1));
  run("sum", 1, {"privacy.noise=1"}, /*is_resumed=*/true);
  for (const std::string& on : {kShares, kMessages}) {
    train(on, 1, {on, "privacy.noise=1"});
    EXPECT_EQ(weights("sum"), weights(on));
  }
}

// The same sums by other ways: only the policy, or what is added, differs.
TEST_F(PrivateMessages, AreTheSameSumsByAnyPolicy) {
  train("reduced", 3, {kShares});
  const std::map<std::string, Overrides> ways{
      {"served", {kShares, "sync.policy=server"}},
      {"whole", {kMessages}},
      {"whole served", {kMessages, "sync.policy=server"}},
      {"all at once", {kMessages, "sync.overlap_forward=true"}},
      {"singly", {kShares, "privacy.per_example=one by one"}},
      // Meeting after each step, the mean of copies is a step by the mean.
      {"local", {kMessages, "sync.policy=local_sgd(period=1)"}}};
  for (const auto& [folder, overrides] : ways) {
    train(folder, 3, overrides);
    EXPECT_LT(difference("reduced", folder), 1e-5) << folder;
  }
  // On servers of their own, which add no noise and draw no examples.
  train("apart", 5, {kMessages, "sync.policy=server", "sync.servers=2"},
        /*servers=*/2);
  EXPECT_LT(difference("reduced", "apart"), 1e-5);
}

// What is done to messages with noise: it trains, and all go through it.
TEST_F(PrivateMessages, MayBeEncodedAndAppliedOneByOne) {
  const std::vector<Overrides> ways{
      {"sync.codec=value:f16"},
      {"sync.sparsify=topk(0.1)"},
      {"sync.policy=server", "sync.codec=value:qsgd"},
      {"sync.rule=median", "sync.collective=all_gather"},
      {"sync.policy=local_sgd(period=2)"},
      {"sync.policy=async_server"},
      {"sync.policy=stale_server"}};
  for (const Overrides& more : ways) {
    Overrides overrides = more;
    overrides.push_back(kMessages);
    overrides.push_back("train.max_steps=3");
    run("a", 2, overrides, /*is_resumed=*/false);
    EXPECT_FALSE(std::filesystem::exists(path("a") / "privacy-1-of-2.key"));
    for (const double weight : weights("a")) {
      ASSERT_TRUE(std::isfinite(weight)) << more[0];
    }
  }
}

// What was stopped goes on with the same examples and the same noise, by as
// many workers.
TEST_F(PrivateMessages, GoOnAfterAKill) {
  const Overrides loud{kMessages, "privacy.noise=1"};
  train("through", 3, loud);
  give_keys("stopped", 3);
  const std::atomic<bool> stop{true};
  EXPECT_ANY_THROW(run("stopped", 3, loud, true, &stop));
  expect_error(ErrorCode::kUnavailable, {"another number of workers"},
               [&] { run("stopped", 2, loud, /*is_resumed=*/true); });
  run("stopped", 3, loud, /*is_resumed=*/true);
  EXPECT_LT(difference("through", "stopped"), 1e-5);
  // Without an order of arrivals nothing is the same twice.
  give_keys("free", 2);
  expect_error(ErrorCode::kInvalidArgument,
               {"--resume", "'async_server'", "would not be the same"}, [&] {
                 run("free", 2, {kMessages, "sync.policy=async_server"},
                     /*is_resumed=*/true);
               });
}

// A run that begins anew clears the keys of the one before, of however many.
TEST_F(PrivateMessages, ForgetOldKeys) {
  give_keys("a", 3);
  std::ofstream(path("a") / "other.key") << "not ours";
  run("a", 2, {kMessages, "train.max_steps=1"}, /*is_resumed=*/false);
  for (const auto& entry : std::filesystem::directory_iterator(path("a"))) {
    if (entry.path().extension() != ".key") continue;
    EXPECT_EQ(entry.path().filename(), "other.key");
  }
}

// Both count what one worker gives away.
TEST_F(PrivateMessages, AreCountedAsOne) {
  const auto text_of = [&](const Overrides& overrides) {
    ThreadWorld world(1);
    std::string text;
    world.run([&](Transport& transport) {
      const Recipe own = recipe("a", overrides);
      WorkerGroup group(transport, own.sync.timeout);
      PrivateRun run(own, &group, {}, false);
      Assembly assembly = assemble(own, 1, {}, run.sampling());
      run.fit(own, assembly);
      text = run.text();
    });
    return text;
  };
  const std::string sum = text_of({"privacy.noise=1"});
  const std::string shares = text_of({"privacy.noise=1", kShares});
  EXPECT_EQ(sum.substr(0, sum.find(", with")),
            shares.substr(0, shares.find(", with")));
  EXPECT_NE(shares.find("on shares"), std::string::npos);
}

TEST_F(PrivateMessages, DeclineWhatWouldPromiseLess) {
  const auto declined = [&](std::initializer_list<std::string> parts,
                            const Overrides& overrides) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { run("a", 2, overrides, /*is_resumed=*/false); });
  };
  declined({"f16", "only a share", "messages"},
           {kShares, "sync.codec=value:f16"});
  declined({"'median'", "only a share"},
           {kShares, "sync.rule=median", "sync.collective=all_gather"});
  declined({"'local_sgd'", "only a share"}, {kShares, "sync.policy=local_sgd"});
  declined({"'async_server'", "only a share"},
           {kShares, "sync.policy=async_server"});
  declined({"a quorum", "who comes in time"},
           {kMessages, "sync.policy=server(quorum=1, deadline=1)"});
  declined({"'adacomm'", "losses"}, {kMessages, "sync.policy=adacomm"});
  declined({"'hogwild'", "before there is noise", "async_server"},
           {kMessages, "sync.policy=hogwild"});
  declined({"privacy.rows", "one by one"}, {kMessages, "privacy.rows=32"});
  declined({"optimizer.clip_norm", "before there is noise"},
           {kMessages, "sync.policy=server", "optimizer.clip_norm=1"});
  declined({"sync.slices"}, {kMessages, "sync.slices=true"});
}

}  // namespace
}  // namespace weft::private_messages_test
