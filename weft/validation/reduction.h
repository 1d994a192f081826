// The statistics of all ranks of a network together.
//
// Threads: as Channel.
#pragma once

#include "weft/comm/transport/communicator.h"
#include "weft/validation/statistics.h"

namespace weft::validation {

// What the ranks have, added up to rank 0 along a binomial tree of log2 P steps
// and sent back along it: in the end `own` is the same on each. `own` must live
// until the task is over. Throws what a message failed with, Error(kDataLoss)
// for damaged bytes and Error(kInvalidArgument) for statistics with other
// options.
Task<> reduce_statistics(Channel channel, Statistics& own);

}  // namespace weft::validation
