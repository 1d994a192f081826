// The books of privacy budgets as JSON, for people and programs: what `weft
// budget show --json` prints.
//
// Threads: pure, but for standstill_text(), which asks the clock.
#pragma once

#include <cstdint>
#include <string>

#include "weft/budget/budget_state.h"

namespace weft {

// {"rules": {"scheduler", "unlocking", "period"}, "blocks": [{"block",
//  "epsilon", "delta", "consumed_epsilon", "claims", "grants", "retires_at",
//  "retires_after", "retired"}], "claims": [as claim_json(), with "job",
//  "mechanism" and "blocks"]}; "retired" says why, if it is, at `now`
// (Ledger::now()).
std::string budget_json(const BudgetBooks& books, std::int64_t now);
// For people, where this machine's clock is a minute or more behind `now`
// (Ledger::now()), and nothing unlocks or retires until it has caught up; else
// empty.
std::string standstill_text(std::int64_t now);
// {"claim", "standing", "because"}
std::string claim_json(const KeptClaim& claim);

}  // namespace weft
