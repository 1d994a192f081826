// One model for all workers of a process, to which they add what they would
// change, each when it comes to it (concurrent/sgd/shared_vector.h).
//
// A worker computes with a copy of its own, its view, which it reads entry by
// entry while others add: kernels read plain memory, and what is shared is only
// reached by atomic accesses. It reads and adds what its batch reaches: of a
// table that is only looked up these rows (step/touched_parts.h).
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
#include "weft/train/step/parameter_part.h"
#include "weft/train/sync/policy.h"

namespace weft {

// The values of each parameter, in order.
using ModelValues = std::vector<std::span<float>>;
ModelValues model_values(std::span<const NamedTensor> trainable);

class SharedModel {
 public:
  // Takes the values that `trainable` has.
  SharedModel(std::span<const NamedTensor> trainable,
              concurrent::UpdateKind kind);

  // Fills these parts of `view` with what is there now, and returns how many
  // updates there had been when it began.
  std::uint64_t read(std::span<const ParameterPart> parts,
                     const ModelValues& view);
  // Makes `after` of these parts, which were `before` when they were read: an
  // entry that others have changed since moves as far (SharedVector::replace).
  // Returns how many updates there had been.
  std::uint64_t replace(std::span<const ParameterPart> parts,
                        const ModelValues& before, const ModelValues& after);
  // Sets all of it, while nobody else is at it.
  void write(const ModelValues& values);

  // A worker has failed, and others should not go on.
  void stop() { has_stopped_.store(true, std::memory_order_relaxed); }
  bool has_stopped() const {
    return has_stopped_.load(std::memory_order_relaxed);
  }

 private:
  // Under kLocked an iteration has the model for itself.
  std::unique_lock<concurrent::SpinLock<>> lock();

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
