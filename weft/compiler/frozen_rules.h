// Rules that make other weights of weights: where these never change, that is
// done once, and such a rule always pays.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// The function with the rules that say so (RuleDef::pays_if_frozen) applied
// wherever they fit and read nothing that changes, but for the first outside
// operand of the match: the data. `is_frozen` has an entry for each parameter,
// and holds for the result too. Rules in `without` are left out.
Function apply_frozen_rules(Function function,
                            const std::vector<bool>& is_frozen,
                            const std::vector<std::string>& without = {});

}  // namespace weft
