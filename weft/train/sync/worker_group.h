// The workers of a run, as one of them sees the others, and what they must
// agree on: workers that train with other recipes, data or weights would drift
// apart without a word.
//
// Threads: caller synchronises; the network is an AsyncEngine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/communicator.h"
#include "weft/train/files/checkpoint.h"

namespace weft {

// What all workers must have alike: "optimizer.lr", "0.1".
struct AgreedItem {
  std::string name;
  std::string value;
};

// The checksum of a tensor's bytes (base/checksum.h), as text.
std::string checksum_of(const Tensor& tensor);

class WorkerGroup {
 public:
  // `timeout`: seconds of silence that are an error.
  WorkerGroup(Transport& transport, double timeout);

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }
  bool is_first() const { return rank() == 0; }
  Transport& transport() { return transport_; }
  // Belongs to the network's thread, as AsyncEngine says.
  Communicator& communicator() { return communicator_; }
  AsyncEngine& network() { return *network_; }

  // Runs a task to its end. Throws what it throws.
  void run(std::function<Task<>()> make);

  // The ranks whose `text` differs from the first one's. Costs a latency.
  // Collective.
  std::vector<int> others(const std::string& what, const std::string& text,
                          bool has_say = true);

  // Throws the same Error(kInvalidArgument) on all workers unless all have the
  // same items: it names those that differ, with both values, and on which
  // rank. Costs a latency where all agree. One that has nothing to say agrees
  // with the first, who has. Collective.
  void agree(const std::string& what, const std::vector<AgreedItem>& items,
             const std::string& hint, bool has_say = true);

  // The first worker's checkpoint, which others are given where they have
  // another or none; nothing where the first has none. `given` gets the ranks
  // that were given it. Collective.
  std::optional<CheckpointFile> share_checkpoint(
      const std::optional<std::filesystem::path>& own, std::vector<int>& given);

 private:
  std::vector<std::string> gather(const std::string& what,
                                  const std::string& text);

  Transport& transport_;
  Communicator communicator_;
  std::unique_ptr<AsyncEngine> network_;
};

}  // namespace weft
