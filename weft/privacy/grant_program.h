// Granting the most weight as integer programs (Tholoniat et al., EuroSys 2025,
// section 3), for HiGHS (base/libraries/integer_program.h).
//
// Threads: pure functions.
#pragma once

#include "weft/base/libraries/integer_program.h"
#include "weft/privacy/budget_state.h"

namespace weft::privacy {

// x_i is 1 where claim i is granted, and these are the first columns; a_jα is 1
// where block j keeps its budget at order α, which at least one must do:
//
//   max Σ w_i x_i,   Σ_α a_jα >= 1,   Σ_i s_ijα x_i + U_jα a_jα <= 1 + U_jα
//
// with s = d / available and U = Σ_i s. Orders at which every claim takes as
// much as at another, or more, are left out, as is the choice where one is
// left; where several are, a row of grant_relaxation() makes the relaxation of
// the solver narrow.
IntegerProgram grant_program(const BudgetProblem& problem,
                             const BudgetState& state);

// From above: each claim takes of each block what it does at the order at which
// that is least, whatever others do,
//
//   max Σ w_i x_i,   Σ_i min_α s_ijα x_i <= 1
//
// which all that can be granted satisfies: Σ_i min_α s_ijα x_i is at most the
// sum at the order at which block j keeps its budget. It is exact where claims
// agree on orders.
IntegerProgram grant_relaxation(const BudgetProblem& problem,
                                const BudgetState& state);

// A weight that no grants of this problem exceed, nor those of any scheduler
// over time to whom all of it comes bit by bit: the bound on grant_relaxation()
// that HiGHS has proved in so many seconds. Throws as solve().
double most_grantable(const BudgetProblem& problem, double seconds);

}  // namespace weft::privacy
