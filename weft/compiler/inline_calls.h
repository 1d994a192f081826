// Puts the bodies of called functions in the place of the calls, so that one
// plan covers caller and callee.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "weft/graph/function.h"

namespace weft {

// Whether `function` calls, branches or loops.
bool has_control(const Function& function);

// The function `entry` and those that it still needs, entry first. Calls of
// functions that lead back to themselves stay, as do branches and loops.
// Throws Error(kExhausted) for a function that becomes too large.
Graph inline_calls(const Graph& graph, std::string_view entry);

}  // namespace weft
