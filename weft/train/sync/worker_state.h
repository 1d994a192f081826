// What each of several workers keeps from step to step, and how copies that are
// equal stay so: when a run begins, when it is saved, and when it goes on.
//
// Threads: caller synchronises. Collective calls are made by all workers, in
//          one order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/train/step/description.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

class WorkerState {
 public:
  // The tensors of `description` are the model's own memory.
  WorkerState(const StepDescription& description, WorkerGroup& group);

  const std::vector<NamedTensor>& trainable() const { return trainable_; }
  // Running statistics, and what is frozen.
  const std::vector<NamedTensor>& statistics() const { return statistics_; }
  // Those among them that are of batches.
  const std::vector<NamedTensor>& batch_statistics() const {
    return batch_statistics_;
  }
  // What this worker carries from batch to batch.
  const std::vector<NamedTensor>& carried() const { return carried_; }
  // What runs change beside gradients: statistics, and what is carried.
  std::vector<NamedTensor> changed_by_runs() const;
  // All of it, and what the policy keeps here.
  std::vector<NamedTensor> all(const SyncPolicy& policy) const;

  // The same seed gives the same weights, unless machines compute them
  // differently: then all take those of the first. Says whose were others, or
  // nothing. Collective.
  std::string share_initial_weights();
  // All take the first worker's. Collective.
  void share_statistics();

  // All that a checkpoint has, on the first worker; nothing on others. Throws
  // Error(kInvalidArgument) on all if copies have come apart after step
  // `number`; a rank that only serves has no copy. Collective.
  std::vector<NamedTensor> gather(const SyncPolicy& policy, std::int64_t number,
                                  bool has_copy);
  // The first worker's checkpoint, and in `note` who was given it. Collective.
  std::optional<CheckpointFile> newest(
      const std::optional<std::filesystem::path>& own, std::string& note);
  // Takes over a checkpoint. Says what of the policy's it lacks. Throws
  // Error(kUnsupported) where it was saved in the middle of an epoch by another
  // number of workers who carry something.
  std::string restore(const CheckpointFile& file, SyncPolicy& policy);

 private:
  void check_copies(std::int64_t number, bool has_copy);
  // All tensors that ranks have each for itself: the policy's, and what is
  // carried.
  std::vector<OwnedTensor> owned(const SyncPolicy& policy) const;

  WorkerGroup& group_;
  std::vector<NamedTensor> trainable_;
  std::vector<NamedTensor> statistics_;
  std::vector<NamedTensor> batch_statistics_;
  std::vector<NamedTensor> carried_;
};

}  // namespace weft
