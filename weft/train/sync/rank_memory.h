// What each rank keeps for itself (residuals, velocities), in checkpoints.
//
// Gradients are scaled by 1 / ranks before they are kept, so what is
// outstanding is the sum over ranks: another number of ranks deals it out anew
// without losing any.
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/train/sync/policy.h"

namespace weft {

// `own` of every rank: "sync.RANK.NAME".
std::vector<OwnedTensor> rank_memory(const std::vector<NamedTensor>& own,
                                     const Communicator& communicator);

// Fills `own` from what `ranks` ranks saved: rank r takes the sum of those of
// r, r + size, r + 2 size, … Returns what there is to say where the checkpoint
// has none of what some need: they begin with nothing kept. Throws
// Error(kDataLoss) for a tensor of another type.
std::string restore_rank_memory(
    const std::vector<NamedTensor>& own, const Communicator& communicator,
    const std::function<Tensor(const std::string&)>& read, int ranks);

}  // namespace weft
