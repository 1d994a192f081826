// Lowering turns functions that call each other into the flat graph.
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
// With a placer, every region is of one rank. Nothing is accumulated then: in
// which order the terms of a sum arrive would decide its last bits.
//
// Threads: pure function.
#pragma once

#include "weft/compiler/flat/flat_graph.h"
#include "weft/compiler/flat/op_placer.h"

namespace weft {

// The flat graph of `entry`, a function of `graph`, for arguments of such
// types, which are static. Throws Error(kInvalidArgument) if they do not fit,
// and Error(kUnsupported) if the shapes change from call to call without end.
// `late` says how many of the last arguments come each time that a run goes on
// (TaggedExecutor::begin()). Without a placer all is rank 0's; place/ has one
// (place/rank_placer.h).
FlatGraph lower(const Graph& graph, std::string_view entry,
                std::span<const TensorType> arguments,
                std::span<const std::size_t> late = {},
                const OpPlacer* placer = nullptr);

}  // namespace weft
