// Runs of several workers that end early, and go on from their checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

#include "tests/support/worker_runs.h"

#include "weft/base/philox.h"
#include "weft/train/sync/rank_memory.h"

namespace weft::workers_resume_test {
namespace {

namespace fs = std::filesystem;
using test::kNetwork;
using ::testing::HasSubstr;

class WorkersResumeTest : public test::WorkerRuns {};

struct Case {
  const char* name;
  std::vector<std::string> overrides;

  friend void PrintTo(const Case& self, std::ostream* out) {
    *out << self.name;
  }
};

class SyncTest : public WorkersResumeTest,
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

// What was exchanged otherwise has no memories, and the run says so.
TEST_F(WorkersResumeTest, ACheckpointWithoutMemoriesIsSaid) {
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
  EXPECT_THAT(notes, ::testing::Contains(HasSubstr(
                         "no memory of what was not sent for 2 of 2 tensors")));
}

// Nothing that was kept back is lost when another number of workers goes on.
TEST_F(WorkersResumeTest, AnotherNumberOfWorkersKeepsWhatWasNotSent) {
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

// A worker that is killed as it sends, early or late, within an exchange or
// while the checkpoint is gathered: all end, and the folder goes on from its
// last checkpoint to the bits of a run that nothing happened to.
TEST_F(WorkersResumeTest, AnyDeathLeavesACheckpointThatResumesBitForBit) {
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

// Hosts that share no folder: what the first one has counts.
TEST_F(WorkersResumeTest, TheFirstWorkersCheckpointIsEveryones) {
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

}  // namespace
}  // namespace weft::workers_resume_test
