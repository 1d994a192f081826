// How far training with memories is from dense training, as the theory of
// sparsified SGD measures it (Alistarh et al., "The Convergence of Sparsified
// Gradient Methods", NeurIPS 2018, assumption 1 and lemma 1):
//
//   drift  |e|, e the sum of all workers' memories: what dense SGD would have
//          applied and this training has not
//   xi     |top(e + g) - s| / |g|: how far the sum s of what workers picked is
//          from what would have been picked of the sum of all they had, in
//          units of their summed gradients g
//
// Theory bounds the drift if xi is bounded, which only training can tell. With
// [sync] memory = "updates" both are of gradients times rates.
//
// Threads: caller synchronises. Cost: a dense all-reduce before and after the
// step, and copies of all gradients.
#pragma once

#include <span>
#include <vector>

#include "weft/train/step/metrics.h"
#include "weft/train/sync/bucket.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

struct Drift {
  double xi = kNotMeasured;
  double drift = kNotMeasured;
};

class DriftMeter {
 public:
  // `state` as SyncPolicy::state() gives it; all must outlive this.
  DriftMeter(WorkerGroup& group, std::span<const Bucket> buckets,
             const std::vector<OwnedTensor>& state, const SyncRecipe& recipe,
             std::uint64_t seed);

  // Before the first exchange of a step, and after the last, while buckets hold
  // the sums. Collective.
  void begin_step();
  Drift end_step(const SyncStep& step);

 private:
  // A tensor with a memory.
  struct Measured {
    const Bucket* bucket;
    const BucketMember* member;
    Tensor memory;
  };

  // The sum of all workers' memories, one tensor after the other.
  std::vector<float> outstanding();

  WorkerGroup& group_;
  std::vector<Measured> measured_;
  Compressor picker_;
  bool holds_updates_;
  std::uint64_t seed_;
  std::vector<float> before_;
};

}  // namespace weft
