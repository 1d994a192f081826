// Whether arguments can tell the sizes of all that a function computes: one
// whose symbols stand in none of its parameters could never be run.
//
// Threads: pure functions.
#pragma once

#include "weft/graph/function.h"
#include "weft/tensor/symbol.h"

namespace weft {

// The symbols that arguments of `function` may tell, each for itself.
Bindings symbols_of_parameters(const Function& function);

// Whether the results of a node, and its attributes, have `symbols` alone.
bool has_known_sizes(const Function& function, const Node& node,
                     const Bindings& symbols);

}  // namespace weft
