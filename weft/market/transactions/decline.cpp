// A worker gives back a job that it cannot run, as it has not the program: it
// loses repute and no stake, since otherwise whoever asks for what nobody has
// would live on the stakes of others.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_decline(State& state, const Action& action) {
  const std::int64_t number = action.fields.number("job");
  Job& job = entry(state.jobs, number, "job");
  Assignment* assignment = running_assignment(job, action.account);
  if (assignment == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "decline",
                "{} does not run job {}", short_name(action.account), number);
  }
  assignment->state = AssignmentState::kReleased;
  Worker& worker = state.workers.at(action.account);
  worker.job = 0;
  --worker.reputation;
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_decline(market::TransactionRegistry& registry) {
  registry.add({.name = "decline",
                .summary = "give a job back that one cannot run (its worker)",
                .fields = {{.name = "job", .summary = "its number"}},
                .apply = market::apply_decline});
}

}  // namespace weft
