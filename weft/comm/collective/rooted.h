// Collectives from or to one rank, and those without sums.
//
// Small vectors use binomial trees of log2 P steps. Large ones are cut: a
// broadcast is a scatter and an all-gather, a reduction a reduce-scatter and
// a gather, which send about 2 N bytes instead of N log2 P.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH" (2005).
//
// Buffers must live until the task is over. A task throws what one of its
// messages failed with.
//
// Threads: as Channel.
#pragma once

#include "weft/comm/collective/scatter_gather.h"

namespace weft {

enum class RootedMethod { kTree, kCut };

// The root's vector to all.
Task<> broadcast(RootedMethod method, Channel channel, DenseBuffer buffer,
                 int root);
// The sum to the root; what the others hold afterwards is of no use.
Task<> reduce(RootedMethod method, Channel channel, DenseBuffer buffer,
              int root);
// Part r of rank r's buffer to the root's, and part r of the root's to rank r.
Task<> gather(Channel channel, DenseBuffer buffer, Parts parts, int root);
Task<> scatter(Channel channel, DenseBuffer buffer, Parts parts, int root);

// Part p of `from` goes to rank p, which finds it in part r of its `to`, r the
// rank that sent it. No overlap of `from` and `to`.
Task<> all_to_all(Channel channel, DenseBuffer from, Parts from_parts,
                  DenseBuffer to, Parts to_parts);

// Ends on no rank before all have entered. Dissemination: Hensgen, Finkel and
// Manber (1988).
Task<> barrier(Channel channel);

}  // namespace weft
