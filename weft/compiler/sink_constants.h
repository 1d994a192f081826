// Constants that a function gives to all calls and loops of another become
// constants of that one: its kernels then know the values of their operands
// (OpCall::known), and its passes see numbers.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "weft/graph/function.h"

namespace weft {

// The same functions with the same signatures. The entry keeps its parameters
// as they are: it is called from outside. What conditional branches are given
// stays an operand. Takes time linear in the nodes for each level of calls.
Graph sink_constants(Graph graph, std::string_view entry);

}  // namespace weft
