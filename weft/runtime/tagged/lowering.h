// From functions that call each other to the flat graph.
//
// Shapes are settled first: a body stands in the flat graph once for every
// combination of argument types that it is called with. A branch that nothing
// else refers to becomes part of the body around it. `cond` becomes Switches
// and Merges; every value that enters a branch passes a Switch, so that nothing
// in the branch that is not taken receives anything. Loops become bodies that
// call themselves. What is entered in phases (graph/phases.h) stays where it
// is: the nodes of a later phase stand beside those of the first.
//
// Arguments of the entry that calls only ever pass on are not passed at all:
// regions read them in place.
//
// With a placement of several ranks, every region is of one of them. Nothing is
// accumulated then: in which order the terms of a sum arrive would decide its
// last bits.
//
// Threads: pure function.
#pragma once

#include "weft/runtime/tagged/flat_graph.h"
#include "weft/runtime/tagged/placement.h"

namespace weft {

// The flat graph of `entry`, a function of `graph`, for arguments of such
// types, which are static. Throws Error(kInvalidArgument) if they do not fit,
// Error(kUnsupported) if the shapes change from call to call without end, and
// as check(placement, …) does. `late` says how many of the last arguments come
// each time that a run goes on (TaggedExecutor::begin()).
FlatGraph lower(const Graph& graph, std::string_view entry,
                std::span<const TensorType> arguments,
                const RankPlacement& placement = {},
                std::span<const std::size_t> late = {});

}  // namespace weft
