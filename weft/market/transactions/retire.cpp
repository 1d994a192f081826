// A worker takes no further jobs, and its stake back.
#include <algorithm>

#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

bool has_reported(const Job& job, const PublicKey& worker) {
  const auto did = [&](const Assignment& one) {
    return one.worker == worker && one.state == AssignmentState::kReported;
  };
  return std::ranges::any_of(job.assignments, did) ||
         std::ranges::any_of(job.checking.checkers, did, &Checker::assignment);
}

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
    if (job.state != JobState::kRunning && job.state != JobState::kChecking) {
      continue;
    }
    if (has_reported(job, action.account)) {
      throw Error(ErrorCode::kInvalidArgument, "retire",
                  "the report on job {} is not compared yet", number);
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
