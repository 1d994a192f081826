// First come, first served: a claim that does not fit waits, and lets later
// ones pass.
#include <numeric>

#include "weft/privacy/budget_state.h"
#include "weft/privacy/scheduler.h"

namespace weft {

void register_budget_scheduler_fcfs(privacy::SchedulerRegistry& schedulers) {
  schedulers.add(
      {.name = "fcfs",
       .summary = "whoever came first, if it fits",
       .schedule = [](const Options&, const privacy::BudgetProblem& problem) {
         privacy::BudgetState state(problem);
         std::vector<std::size_t> order(state.claims());
         std::iota(order.begin(), order.end(), std::size_t{0});
         return grant_in_order(state, order);
       }});
}

}  // namespace weft
