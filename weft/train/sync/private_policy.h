// Adds noise to the sum of all workers' clipped gradients, between a policy's
// exchange and its update: differentially private training by several workers.
//
// Every worker has the run's key and the same sum, and so adds the same noise
// to it, once: what the optimizer gets has the noise of a run by one worker.
//
// Threads: as SyncPolicy.
#pragma once

#include <memory>
#include <optional>

#include "weft/train/step/private_noise.h"
#include "weft/train/sync/policy.h"

namespace weft {

// Why the workers of this recipe cannot train privately; nothing if they can.
std::optional<Refusal> private_workers_decline(const SyncRecipe& recipe);

// `policy` is one that leaves the sums of all gradients in the buckets, which
// outlive this, and hold whole parameters.
std::unique_ptr<SyncPolicy> with_noise(std::unique_ptr<SyncPolicy> policy,
                                       const PrivateNoise& noise);

}  // namespace weft
