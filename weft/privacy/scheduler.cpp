#include "weft/privacy/scheduler.h"

namespace weft::privacy {

Scheduler parse_scheduler(std::string_view text) {
  const SchedulerRegistry& registry = budget_scheduler_registry();
  return parse_call(text, registry, registry.kind());
}

std::vector<std::size_t> schedule(const Scheduler& scheduler,
                                  const BudgetProblem& problem) {
  check(problem);
  return scheduler.def->schedule(scheduler.options, problem);
}

}  // namespace weft::privacy
