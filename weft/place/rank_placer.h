// Lowering for several ranks: what a placement names goes where it says, and
// all else to its data.
//
// Threads: pure function.
#pragma once

#include <span>

#include "weft/compiler/flat/flat_graph.h"
#include "weft/place/placement.h"

namespace weft {

// The flat graph of `entry` as lower() makes it (compiler/flat/lowering.h),
// with every region on one of the ranks, which partition() then cuts it for. An
// op that nothing places goes where most bytes of its operands are made, or, if
// it has none, where most of its readers are. Throws as lower() and as
// check(placement, …) do.
FlatGraph lower(const Graph& graph, std::string_view entry,
                std::span<const TensorType> arguments,
                const RankPlacement& placement);

}  // namespace weft
