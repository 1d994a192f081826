// Privacy budgets as a page for a browser: a bar for each block, with what each
// job has taken of it, and a table of claims. It holds all that it shows.
//
// Threads: a pure function.
#pragma once

#include <string>

#include "weft/budget/budget_state.h"

namespace weft {

// `title` is what the ledger is called.
std::string budget_page(const BudgetBooks& books, const std::string& title,
                        std::int64_t now);

}  // namespace weft
