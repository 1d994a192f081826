// The books of privacy budgets as JSON, for people and programs: what `weft
// budget show --json` prints.
//
// Threads: pure.
#pragma once

#include <string>

#include "weft/budget/budget_state.h"

namespace weft {

// {"rules": {"scheduler", "unlocking", "period"}, "blocks": [{"block",
//  "epsilon", "delta", "consumed_epsilon", "claims"}], "claims": [as
//  claim_json(), with "job", "mechanism" and "blocks"]}
std::string budget_json(const BudgetBooks& books);
// {"claim", "standing", "because"}
std::string claim_json(const KeptClaim& claim);

}  // namespace weft
