// Who is granted a share of budgets that do not suffice for all.
//
//   dpk                     as many claims, or as much weight, as it can
//   dpk(recompute=50)
//   dpf                     the smallest dominant share first: max-min fair
//   fcfs                    whoever came first
//   optimal(seconds=60)     the most that is possible, for small problems
//
// A new scheduler is one file in weft/privacy/schedulers.
//
// Threads: pure functions; immutable registry.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/privacy/budget.h"

namespace weft::privacy {

struct SchedulerDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // The numbers of the claims to be granted, in this order, one after the other
  // within what is available. The problem has been checked. The same problem
  // gives the same answer.
  std::vector<std::size_t> (*schedule)(const Options& options,
                                       const BudgetProblem& problem) = nullptr;
};

using SchedulerRegistry = Registry<SchedulerDef>;
using Scheduler = Call<SchedulerDef>;

// Throws Error(kInvalidArgument) with a caret under the place.
Scheduler parse_scheduler(std::string_view text);

// Throws what check() does, and what the scheduler says.
std::vector<std::size_t> schedule(const Scheduler& scheduler,
                                  const BudgetProblem& problem);

}  // namespace weft::privacy

namespace weft {

// It is filled from the files of weft/privacy/schedulers.
const privacy::SchedulerRegistry& budget_scheduler_registry();

}  // namespace weft
