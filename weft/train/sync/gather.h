// Small exchanges beside the gradients: totals of a step, checkpoints.
//
// Threads: tasks of the network's thread.
// Errors:  those of the transport, on whoever awaits the task.
#pragma once

#include <string>
#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/train/sync/policy.h"

namespace weft {

// Replaces `values` by their sums over all workers, added in the order of
// ranks: the same bits everywhere. Everyone sends to everyone, which for a few
// numbers costs one latency.
Task<> sum_over_workers(Channel channel, std::vector<double>& values);

// Fills `all` with the text of every rank, in their order. Throws
// Error(kDataLoss) for one of more than 64 MiB.
Task<> gather_texts(Channel channel, std::string own,
                    std::vector<std::string>& all);

// Gives everyone the tensors of `root`.
Task<> broadcast_tensors(Channel channel, int root,
                         std::vector<NamedTensor> tensors);

// Fills in, on `root`, the tensors that others own.
Task<> gather_tensors(Channel channel, int root,
                      std::vector<OwnedTensor>& tensors);

}  // namespace weft
