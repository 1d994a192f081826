// Runs of a recipe on the bundled digits, by simulated workers and by threads,
// and their last checkpoints side by side.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/files/safetensors.h"
#include "weft/train/simulated_run.h"

namespace weft::test {

// Trains with ranks that are threads; what the first one says of it.
inline TrainResult train_on_threads(const Recipe& recipe, int ranks,
                                    bool is_resumed = false,
                                    const ThreadWorldOptions& options = {}) {
  TrainResult result;
  ThreadWorld(ranks, options).run([&](Transport& transport) {
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

class TrainingRuns {
 public:
  explicit TrainingRuns(std::string recipe) : recipe_(std::move(recipe)) {}

  Recipe recipe(const std::string& folder,
                const std::vector<std::string>& overrides = {}) const {
    std::vector<std::string> all = {"log.folder=" +
                                    (root_.path() / folder).string()};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return parse_recipe(recipe_, "test", all);
  }

  TrainResult simulate(const std::string& folder,
                       const std::vector<std::string>& overrides = {},
                       bool is_resumed = false) const {
    set_thread_count(1);
    TrainObserver quiet;
    return train_simulated(recipe(folder, overrides),
                           {.name = "test", .is_resumed = is_resumed}, quiet);
  }

  TrainResult on_threads(int ranks, const std::string& folder,
                         std::vector<std::string> overrides = {},
                         bool is_resumed = false) const {
    overrides.push_back("simulate.network=\"\"");
    return train_on_threads(recipe(folder, overrides), ranks, is_resumed);
  }

  SafetensorsFile last(const std::string& folder) const {
    return SafetensorsFile(root_.path() / folder / "last.safetensors");
  }

  // All that the model has is compared, and of what workers keep beside it if
  // asked.
  void expect_same_bits(const std::string& a, const std::string& b,
                        bool with_sync = true) const {
    const SafetensorsFile left = last(a);
    const SafetensorsFile right = last(b);
    std::size_t compared = 0;
    for (const auto& entry : left.entries()) {
      if (!with_sync && entry.name.starts_with("sync.")) continue;
      ASSERT_NE(right.find(entry.name), nullptr) << entry.name;
      EXPECT_TRUE(identical(left.read(entry), right.read(entry.name)))
          << entry.name;
      ++compared;
    }
    EXPECT_GT(compared, 3u);
    if (!with_sync) return;
    EXPECT_EQ(left.entries().size(), right.entries().size());
  }

 protected:
  TemporaryFolder root_;

 private:
  std::string recipe_;
};

}  // namespace weft::test
