// The most weight that is possible is found as an integer program
// (grant_program.h), which is solved in time for some hundred claims.
#include "weft/privacy/grant_program.h"
#include "weft/privacy/scheduler.h"

namespace weft {
namespace {

using privacy::BudgetState;

std::vector<std::size_t> schedule_optimally(
    const Options& options, const privacy::BudgetProblem& problem) {
  BudgetState state(problem);
  const auto seconds = option<double>(options, "seconds");
  const IntegerSolution found =
      solve(grant_program(problem, state),
            {.seconds = seconds, .gap = option<double>(options, "gap")});
  if (!found.is_optimal) {
    throw Error(ErrorCode::kExhausted, "optimal",
                "in {} s it found a weight of {:.6g}, and none above {:.6g} is "
                "possible",
                seconds, found.value, found.bound)
        .hint("raise `seconds` or `gap`, or let dpk schedule");
  }
  std::vector<std::size_t> order;
  for (std::size_t claim = 0; claim < state.claims(); ++claim)
    if (found.x[claim] > 0.5) order.push_back(claim);
  // The solver takes a millionth too much for enough; nobody else does.
  return grant_in_order(state, order);
}

}  // namespace

void register_budget_scheduler_optimal(privacy::SchedulerRegistry& schedulers) {
  schedulers.add({.name = "optimal",
                  .summary = "the most weight that is possible, by HiGHS",
                  .options = {{"seconds",
                               60.0,
                               "after which it gives up",
                               {.least = 0, .is_open_below = true},
                               {},
                               "seconds"},
                              {"gap",
                               0.0,
                               "to what is possible, that is good enough",
                               {.least = 0, .most = 1},
                               {},
                               "share"}},
                  .schedule = schedule_optimally});
}

}  // namespace weft
