// What of a function depends on parameters alone that never change, as weights
// do that are served: it is computed once, before the function runs.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

// Whether each value depends on at least one frozen parameter and on nothing
// that changes. `is_frozen` has an entry for each parameter. What draws
// numbers, meets other ranks, branches, runs code of the host or depends on
// sizes that have symbols is never frozen.
std::vector<bool> frozen_values(const Function& function,
                                const std::vector<bool>& is_frozen);

struct FrozenParts {
  // From the frozen parameters, in order, to what the rest reads of it.
  Function preparation;
  // From the other parameters, in order, and the results of `preparation`
  // behind them.
  Function rest;
};

// As frozen_values() says. The function's results stay those of `rest`.
FrozenParts split_frozen(const Function& function,
                         const std::vector<bool>& is_frozen);

}  // namespace weft
