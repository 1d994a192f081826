// Parameters that never change, and what depends on them alone, as constants.
//
// Threads: pure functions.
#pragma once

#include "weft/compiler/pass.h"
#include "weft/graph/frozen.h"

namespace weft {

// The function with constants in the place of what frozen parameters alone
// decide, which is computed now. It has the same parameters, so that it is
// called as before, but nothing reads the frozen ones. Where results may round
// otherwise, rules first make of weights what saves work later
// (compiler/frozen_rules.h). Costs a run of what is computed. Throws as
// freeze() does.
Function fold_frozen(const Function& function, const Frozen& frozen,
                     const PassOptions& options = {.may_round = false});

}  // namespace weft
