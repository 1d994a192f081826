// A ledger of privacy budgets: blocks of people's data, and jobs that ask for a
// part of what each may give away.
//
//   Ledger ledger = Ledger::open("books.db", LedgerMode::kCreate);
//   BudgetLedger budgets(ledger);
//   budgets.add_block("2026-11", {.epsilon = 10, .delta = 1e-7});
//   const KeptClaim claim = budgets.ask({.claim = "run 7", …});
//   if (claim.standing == ClaimStanding::kGranted) budgets.begin("run 7");
//
// A grant is written before anything is read, whole or not at all, and in one
// transaction with the check that it fits: a crash, a race or a restart spends
// nothing twice. What a job that was killed had been granted stays spent until
// somebody who knows that it had not begun gives it back.
//
// Source:  Lécuyer et al., "PrivateKube", OSDI 2021; Tholoniat et al., "Packing
//          Privacy Budget Efficiently", 2022.
// Threads: as Ledger.
#pragma once

#include <string>
#include <vector>

#include "weft/budget/budget_state.h"
#include "weft/ledger/book.h"

namespace weft {

class BudgetLedger {
 public:
  // `ledger` must outlive this.
  explicit BudgetLedger(Ledger& ledger) : book_(ledger, kBudgetBook) {}

  // As it is now.
  const BudgetBooks& books() { return book_.current(); }

  // Throws Error(kInvalidArgument) for a scheduler or a rule of unlocking that
  // cannot be read. Another rule counts from when each block was added, and
  // takes nothing back that was granted.
  void set_rules(const BudgetRules& rules);
  // Throws Error(kInvalidArgument) for one that is there, a guarantee that
  // nothing could be granted within, or a retirement before now.
  void add_block(const std::string& block, const privacy::Guarantee& guarantee,
                 const Retirement& retirement = {});
  // Ends a block: what waits for it is refused with the reason, and what was
  // granted stays. Throws Error(kInvalidArgument) for one that is not there, or
  // is retired.
  void retire(const std::string& block, const std::string& because);

  // Files a claim, whose blocks may be patterns ("2026-*"), and deals out what
  // can be. A claim that is there keeps its standing, so that a job which
  // starts again pays once; throws Error(kInvalidArgument) if it was another
  // one.
  KeptClaim ask(ClaimEntry claim);
  // Waits until the claim is granted or refused; after so many seconds it is
  // refused, since nobody waits.
  KeptClaim wait(const std::string& claim, double seconds);
  // The job reads the data from now on. Throws Error(kInvalidArgument) unless
  // the claim is granted; one that has begun before stays so.
  void begin(const std::string& claim);
  // Gives back what was granted. Throws Error(kInvalidArgument) for a claim
  // that has begun, or holds nothing.
  void release(const std::string& claim);

 private:
  Book<BudgetBooks> book_;
};

}  // namespace weft
