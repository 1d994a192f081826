// Reduce-scatter and all-gather: the two halves of an all-reduce.
//
// Both work in place on a vector that is cut into one part per rank. After a
// reduce-scatter, the part of this rank holds the sum over all ranks and the
// rest of the buffer holds nothing of use. An all-gather fills in the parts
// of the others. Parts may have any sizes, also none.
//
// The order of additions is a function of (method, ranks): every run gives the
// same bits.
//
// Steps and bytes sent per rank, of N bytes over P ranks in equal parts:
//   ring     P - 1 steps to the next rank, N (P - 1) / P bytes
//   halving  ceil(log2 P) steps, N (P - 1) / P bytes (an all-gather doubles)
//   direct   1 step to all others at once, N (P - 1) / P bytes
//
// Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH" (2005); halving around a circle, for any
// number of ranks: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient
// algorithms for all-to-all communications" (1997).
//
// The buffer must live until the task is over. A task throws what one of its
// messages failed with.
//
// Threads: as Channel.
#pragma once

#include <string_view>

#include "weft/comm/collective/dense.h"

namespace weft {

enum class ScatterMethod { kRing, kHalving, kDirect };

std::string_view to_string(ScatterMethod method);
// Throws Error(kInvalidArgument) for a name that is none.
ScatterMethod scatter_method(std::string_view name);

Task<> reduce_scatter(ScatterMethod method, Channel channel, DenseBuffer buffer,
                      Parts parts);
Task<> all_gather(ScatterMethod method, Channel channel, DenseBuffer buffer,
                  Parts parts);

}  // namespace weft
