// Which ops run together, as one region.
//
// An op that every reader copies belongs to a group only if something else than
// an op needs it. Ops that lead to accumulators and nowhere else stay apart:
// they can wait until the recursion is done, and run for all of its activations
// at once. An elementwise op, or a lookup of the entry, that one other group
// reads, of values that this group receives anyway, is computed there: what a
// gradient needs of a forward pass is kept once, not in several forms.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/compiler/flat/draft.h"

namespace weft {

// Constants above all: each region that reads one holds its own.
bool is_copied(const Draft& draft, int node);

// The group of each node, or -1.
std::vector<int> group_ops(const Draft& draft);

}  // namespace weft
