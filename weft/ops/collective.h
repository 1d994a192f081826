// Sums and exchanges across the ranks that run the same graph. Every rank runs
// the op, with its own x; `groups` says who sums with whom (see
// graph/collectives.h for what carries it out).
//
// Gradients are those of the sum of all ranks' losses.
//
// Throws Error(kInvalidArgument) unless the groups hold each rank once, x can
// be summed (no integers narrower than i32) and its leading axis divides. A run
// waits for all members of the group; it throws Error(kUnavailable) where
// nothing joins the ranks (graph/collectives.h).
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
