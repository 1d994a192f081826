// A worker takes no further jobs, and its stake back.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_retire(State& state, const Action& action) {
  const auto found = state.workers.find(action.account);
  if (found == state.workers.end()) {
    throw Error(ErrorCode::kInvalidArgument, "retire", "{} is no worker",
                short_name(action.account));
  }
  Worker& worker = found->second;
  if (worker.job != 0) {
    throw Error(ErrorCode::kInvalidArgument, "retire",
                "the worker runs job {}, and its stake stays until it has "
                "reported",
                worker.job);
  }
  // A worker that has reported may still be refuted by others.
  for (const std::int64_t number : state.live_jobs) {
    const Job& job = entry(state.jobs, number, "job");
    for (const Assignment& one : job.assignments) {
      if (one.worker == action.account && job.state == JobState::kRunning &&
          one.state == AssignmentState::kReported) {
        throw Error(ErrorCode::kInvalidArgument, "retire",
                    "the report on job {} is not compared yet", number);
      }
    }
  }
  state.give(action.account, worker.stake);
  worker.stake = 0;
  worker.is_active = false;
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_retire(market::TransactionRegistry& registry) {
  registry.add({.name = "retire",
                .summary = "offer no more, and take the stake back",
                .apply = market::apply_retire});
}

}  // namespace weft
