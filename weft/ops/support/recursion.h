// Loops as functions that call themselves, so that what runs and differentiates
// recursion does the same for loops.
//
// Threads: as Program.
#pragma once

#include "weft/graph/program.h"

namespace weft {

// A function with the operands and results of the loop, which does what the
// loop does by tail calls:
//
//   while: f(values) = condition(values) ? f(body(values)) : values
//   scan:  the same for a counter, with stacks whose rows are added one by one.
//          Where the executor writes them in place, a step costs what its row
//          costs, in the gradient too. (Stacks of bools are copied.)
//
// It is made once for each loop of the program.
FunctionRef recursive_form(Program& program, const OpDef& loop,
                           const Attributes& attributes);

// Whether an op is a loop.
bool is_loop(const OpDef& op);

// The graph with a call in place of each loop.
Graph loops_to_recursion(const Graph& graph);

}  // namespace weft
