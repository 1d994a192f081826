// Differentially private training by several workers: who adds noise, and when.
//
//   sum       Every worker has the run's key, and the same sum of all clipped
//             gradients after a policy's exchange. So each adds the same noise
//             to it, once: what the optimizer gets has the noise of a run by
//             one worker.
//   shares    N workers have a key each, by which each draws from rows of its
//             own, and adds noise of deviation σC / sqrt(N) to its sum before
//             that leaves it. The sum of all has σC; what is seen of one
//             message alone has less.
//   messages  The same with all of σC in each message. An example is in the
//             messages of one worker, which are private by themselves: whatever
//             is made of them, by codecs, servers or rules, is as well. The sum
//             has sqrt(N) times the noise.
//
// Source: Dwork et al., "Our Data, Ourselves: Privacy via Distributed Noise
//         Generation", EUROCRYPT 2006, for shares of noise; McSherry, "Privacy
//         Integrated Queries", SIGMOD 2009, theorem 4, for parts of the data
//         that have nothing in common.
// Threads: as SyncPolicy.
#pragma once

#include <memory>
#include <optional>

#include "weft/train/step/private_noise.h"
#include "weft/train/sync/policy.h"

namespace weft {

inline constexpr const char* kNoiseOnSum = "sum";
inline constexpr const char* kNoiseInShares = "shares";
inline constexpr const char* kNoiseOnMessages = "messages";

// Why the workers of this recipe cannot train privately; nothing if they can.
std::optional<Refusal> private_workers_decline(const Recipe& recipe);

// For noise on the sum. `policy` is one that leaves the sums of all gradients
// in the buckets, which outlive this, and hold whole parameters.
std::unique_ptr<SyncPolicy> with_noise(std::unique_ptr<SyncPolicy> policy,
                                       const PrivateNoise& noise);

}  // namespace weft
