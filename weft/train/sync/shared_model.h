// One model for all workers of a process, to which they add what they would
// change, each when it comes to it (concurrent/sgd/shared_vector.h).
//
// A worker computes with a copy of its own, its view, which it reads entry by
// entry while others add: kernels read plain memory, and what is shared is only
// reached by atomic accesses.
//
// Threads: all workers at once, where a comment does not say otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/sgd/shared_vector.h"
#include "weft/train/sync/policy.h"

namespace weft {

class SharedModel {
 public:
  // Takes the values that `trainable` has.
  SharedModel(std::span<const NamedTensor> trainable,
              concurrent::UpdateKind kind);

  // Fills `trainable` with what is there now, and returns how many updates
  // there had been when it began.
  std::uint64_t read(std::span<const NamedTensor> trainable) const;
  // Adds what the buckets hold, entries of 0 excepted, and reads as above.
  // `seen` is what the read before returned, and is replaced. Returns the
  // staleness: how many updates others have made since then.
  std::uint64_t add(std::span<const Bucket> buckets,
                    std::span<const NamedTensor> trainable,
                    std::uint64_t& seen);
  // Sets it to the values of `trainable`, while nobody else is at it.
  void write(std::span<const NamedTensor> trainable);

  // A worker has failed, and others should not go on.
  void stop() { has_stopped_.store(true, std::memory_order_relaxed); }
  bool has_stopped() const {
    return has_stopped_.load(std::memory_order_relaxed);
  }

 private:
  std::vector<std::size_t> begins_;  // of the parameters, and the end
  std::vector<float> values_;
  concurrent::SharedVector<float> shared_;
  concurrent::CacheAligned<std::atomic<std::uint64_t>> updates_;
  std::atomic<bool> has_stopped_ = false;
};

// The first rank makes it, and all others get the same: their transport must
// share_memory(). Collective.
std::shared_ptr<SharedModel> join_shared_model(const SyncContext& context,
                                               concurrent::UpdateKind kind);

// Why several workers cannot add what this optimizer changes; nothing if they
// can.
std::optional<Refusal> shared_model_declines(const Optimizer& optimizer);

}  // namespace weft
