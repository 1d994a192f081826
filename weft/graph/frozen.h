// Parameters whose values never change again, as constants of a function: what
// reads them can keep what it makes of them (OpCall::known), and passes see
// numbers instead of names.
//
// Threads: pure functions.
#pragma once

#include <utility>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// The index of a parameter, and its value.
using Frozen = std::vector<std::pair<std::size_t, Tensor>>;

// The function with a constant wherever one of these is read. It has the same
// parameters, so that it is called as before, but nothing reads the frozen
// ones. Values are not copied. Throws Error(kInvalidArgument) where a value is
// of another type than its parameter.
Function freeze(const Function& function, const Frozen& frozen);

}  // namespace weft
