// Privacy budgets that many share: blocks of people's data, each with a budget
// of its own that is never renewed, and claims on them.
//
// A block holds its (epsilon, delta) as long as what was consumed is within its
// capacity at one order (renyi_curve.h). So a claim may be granted where, in
// each block that it asks of, one order has enough left; it is granted whole or
// not at all, and consumes at every order.
//
// Threads: value types.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/privacy/renyi_curve.h"

namespace weft::privacy {

struct BudgetBlock {
  RenyiCurve capacity;
  RenyiCurve unlocked;  // so far, at most the capacity
  RenyiCurve consumed;
};

struct BudgetDemand {
  std::size_t block = 0;  // its number; one that is not there grants nothing
  RenyiCurve curve;
};

struct BudgetClaim {
  std::vector<BudgetDemand> demands;
  double weight = 1;
};

struct BudgetProblem {
  std::vector<BudgetBlock> blocks;
  std::vector<BudgetClaim> claims;  // that wait, in the order of their arrival
};

// Throws Error(kInvalidArgument) where orders differ, a demand is below 0, a
// weight is not a finite number above 0, or a claim asks of one block twice.
void check(const BudgetProblem& problem);

// Whether no demand of the claim is above a `shares`th of a block's capacity,
// at any order that has some: what everyone could have if there were so many
// (PrivateKube's fair share).
bool is_fair_share(const BudgetClaim& claim,
                   const std::vector<BudgetBlock>& blocks, double shares);

}  // namespace weft::privacy
