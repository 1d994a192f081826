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

// Replaces `values` by their sums over all workers: the same bits everywhere,
// which depend on the number of workers and on nothing else. A few workers send
// to each other, which costs one latency; many sum along a tree.
Task<> sum_over_workers(Channel channel, std::vector<double>& values);

// Fills `all` with the text of every rank, in their order. Throws
// Error(kDataLoss) for one of more than 64 MiB.
Task<> gather_texts(Channel channel, std::string own,
                    std::vector<std::string>& all);

// Gives everyone the tensors of `root`, along a tree.
Task<> broadcast_tensors(Channel channel, int root,
                         std::vector<NamedTensor> tensors);

// Fills in, on `root`, the tensors that others own.
Task<> gather_tensors(Channel channel, int root,
                      std::vector<OwnedTensor>& tensors);

}  // namespace weft
