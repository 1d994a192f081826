// Schedulers on a workload: who is granted when, and what it costs in fairness.
//
// Nothing here holds a resource for a time, which is what weft/simulate is for:
// blocks and tasks arrive in a known order, what is unlocked is a function of
// age, and a scheduler runs every so often on all that wait.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/privacy/scheduler.h"
#include "weft/privacy/unlocking.h"
#include "weft/privacy/workload.h"

namespace weft::privacy {

struct SimulationRules {
  std::uint64_t seed = 1;  // of the blocks that tasks ask of
  // A task that has waited for longer leaves; 0: none does.
  double patience = 0;
  // Blocks retire when they are so old, or have been granted of so often; 0:
  // never. What waits for one then is refused, and later tasks ask of others.
  double lifetime = 0;
  std::int64_t grants = 0;
  // What a fair share is one of (budget.h).
  double fair_shares = 50;
};

struct SimulatedGrant {
  std::size_t task = 0;
  double time = 0;
};

struct SimulationResult {
  std::vector<SimulatedGrant> grants;  // in their order
  double weight = 0;                   // of what was granted
  std::size_t refused = 0;  // that asked of more blocks than are there
  std::size_t left = 0;     // that had no more patience
  std::size_t expired = 0;  // that waited for a block that has retired
  std::size_t fair = 0;     // tasks that asked for a fair share at most
  std::size_t fair_granted = 0;
  double mean_delay = 0;  // of what was granted
  double epsilon = 0;     // the largest of a block, at its delta
  double seconds = 0;     // that scheduling took
};

// Scheduling goes on after the last arrival until all is unlocked. Throws
// Error(kInvalidArgument) for an unlocking that cannot be read, and what the
// scheduler throws.
// All that is ever asked, on blocks whose budgets are unlocked, as if it had
// come at once: what can be granted of it bounds every scheduler from above.
// Throws Error(kInvalidArgument) for rules by which blocks retire after grants,
// as what is asked then depends on who is granted.
BudgetProblem all_that_is_asked(const Workload& workload,
                                const SimulationRules& rules);

SimulationResult simulate(const Workload& workload, const Scheduler& scheduler,
                          const SimulationRules& rules);

}  // namespace weft::privacy
