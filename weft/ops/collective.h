// Sums and exchanges across the ranks that run the same graph. Every rank runs
// the op, with its own x; `groups` says who sums with whom (see
// graph/collectives.h for what carries it out).
//
// Gradients are those of the sum of all ranks' losses.
#pragma once

#include "weft/graph/collectives.h"
#include "weft/graph/context.h"

namespace weft {

// The sum of x over the members of the rank's group.
Value all_reduce(const Operand& x, const RankGroups& groups);
// The rank's own part of that sum, which is cut along the leading axis into one
// part per member: [n, …] to [n / groups.size, …].
Value reduce_scatter(const Operand& x, const RankGroups& groups);
// The members' x one after another along the leading axis, in the order of
// the group: [n, …] to [n * groups.size, …].
Value all_gather(const Operand& x, const RankGroups& groups);

}  // namespace weft
