// Several workers, as threads, that train a small network on the bundled
// digits; their checkpoints side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "tests/support/training_runs.h"

namespace weft::test {

// Runs that measured the network might choose other algorithms, which round
// differently.
inline constexpr const char* kNetwork = "sync.topology=3@20us,1GB/s";

class WorkerRuns : public ::testing::Test, public TrainingRuns {
 protected:
  // A short run of a small network without dropout or batch norm, which one
  // worker and several compute alike.
  WorkerRuns()
      : TrainingRuns(R"(
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
)") {}

  TrainResult train(const Recipe& recipe, int workers, bool is_resumed = false,
                    const ThreadWorldOptions& options = {}) const {
    return train_on_threads(recipe, workers, is_resumed, options);
  }

  std::map<std::string, Tensor> saved(const std::string& folder) const {
    const SafetensorsFile file = last(folder);
    std::map<std::string, Tensor> tensors;
    for (const auto& entry : file.entries()) {
      tensors[entry.name] = file.read(entry);
    }
    return tensors;
  }

  // What policies keep beside the model does not count.
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
};

}  // namespace weft::test
