// The update of a worker's own copy of the whole model by the gradients that
// its buckets hold: for policies under which all workers hold the same ones,
// and so keep equal copies.
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/train/step/step.h"
#include "weft/train/sync/policy.h"

namespace weft {

// Copies what `read` has of each slot into its memory. Throws Error(kDataLoss)
// for a checkpoint that lacks one.
void restore_slots(std::span<const NamedTensor> slots,
                   const std::function<Tensor(const std::string&)>& read);

class WholeUpdate {
 public:
  // The model's parameters and the buckets must outlive this. With
  // overlap_forward each bucket is updated by itself, by an optimizer for which
  // that makes no difference; else all are at once, which is faster.
  explicit WholeUpdate(const SyncContext& context);

  // After each bucket's exchange, and after all of them: one of the two
  // updates.
  void run(const Bucket& bucket, const SyncStep& step);
  void run(const SyncStep& step) {
    compute(step);
    charge();
  }
  // The two parts of the latter: what it takes on a virtual clock passes in
  // charge().
  void compute(const SyncStep& step);
  void charge();
  const std::vector<NamedTensor>& slots() const { return slots_; }

  // The optimizer's slots, for SyncPolicy::state(): they are the same
  // everywhere, and the first worker's are saved.
  std::vector<OwnedTensor> state() const;
  // Throws Error(kDataLoss) for a checkpoint that lacks one.
  void restore(const std::function<Tensor(const std::string&)>& read) const;

 private:
  AsyncEngine& network_;
  double seconds_per_byte_;  // that it is charged for
  std::size_t bytes_ = 0;
  bool is_by_bucket_;
  std::vector<NamedTensor> slots_;
  std::vector<Step> updates_;  // by bucket, or the only one
};

}  // namespace weft
